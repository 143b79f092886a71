import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Keys and webhooks of deleted projects are refused as agents and numbers are (0007). The constraint's name says what is
 * wrong: the HTTP layer answers such an insert with 404 PROJECT_NOT_FOUND.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create or replace function require_live_project() returns trigger language plpgsql as $$
    begin
      perform 1 from projects where id = new.project_id and deleted_at is null for share;
      if not found then
        raise foreign_key_violation
          using message = format('project %s is deleted', new.project_id), constraint = 'live_project';
      end if;
      return new;
    end $$`
  yield* sql`
    create trigger api_keys_live_project before insert on api_keys
    for each row when (new.project_id is not null) execute function require_live_project()`
  // Not for the webhooks of agents: these transactions hold the agent, which a deletion takes after the project.
  yield* sql`
    create trigger webhooks_live_project before insert on webhooks
    for each row when (new.project_id is not null and not new.is_agent_managed)
    execute function require_live_project()`
})
