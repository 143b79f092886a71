import { toBody } from "@svc/api/VoiceError"
import { workspacePath } from "@svc/api/Workspace"
import { toErrorBody, workspaceErrors } from "@svc/api/WorkspaceError"
import { pathOf } from "../routing/RouteTable.ts"
import type { ErrorShape } from "./Exchange.ts"

const voice: ErrorShape = (error) => ({ status: error.status, body: toBody(error) })

const workspace: ErrorShape = (error, id) => {
  const body = toErrorBody(error)
  // A URL that is too long, say, is there a request that is not valid like others.
  const status = body.code === "VALIDATION_ERROR" ? workspaceErrors[body.code][0] : error.status
  return { status, body: { error: body, meta: { request_id: id } } }
}

/** The shape of errors for a request target: the envelope of spec 7.2 below the workspace API's path, else that of 7.1. */
export const errorShapeOf = (target: string): ErrorShape => {
  const path = pathOf(target)
  return path === workspacePath || path.startsWith(`${workspacePath}/`) ? workspace : voice
}
