import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Indexes for the lists of keys, and a trigger against agents and numbers of deleted projects: an insert that is concurrent
 * to the deletion of its project waits for it and fails, or the deletion waits and includes it. See the auth package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`drop index api_keys_org`
  yield* sql`create index api_keys_org on api_keys (org_id, kind, id desc)`
  yield* sql`
    create function require_live_project() returns trigger language plpgsql as $$
    begin
      perform 1 from projects where id = new.project_id and deleted_at is null for share;
      if not found then
        raise foreign_key_violation using message = format('project %s is deleted', new.project_id);
      end if;
      return new;
    end $$`
  yield* sql`
    create trigger agents_live_project before insert on agents
    for each row execute function require_live_project()`
  yield* sql`
    create trigger phone_numbers_live_project before insert on phone_numbers
    for each row execute function require_live_project()`
})
