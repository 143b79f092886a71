import { toBody } from "@svc/api/VoiceError"
import { workspacePath } from "@svc/api/Workspace"
import { toErrorBody } from "@svc/api/WorkspaceError"
import type { ErrorShape } from "./Exchange.ts"
import { pathOf } from "./RouteTable.ts"

const voice: ErrorShape = (error) => toBody(error)

const workspace: ErrorShape = (error, id) => ({ error: toErrorBody(error), meta: { request_id: id } })

/** The shape of errors for a request target: the envelope of spec 7.2 below the workspace API's path, else that of 7.1. */
export const errorShapeOf = (target: string): ErrorShape => {
  const path = pathOf(target)
  return path === workspacePath || path.startsWith(`${workspacePath}/`) ? workspace : voice
}
