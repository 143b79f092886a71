import { isChatPath, toChatErrorBody } from "@svc/api/chat/ChatError"
import { toBody } from "@svc/api/VoiceError"
import { workspacePath } from "@svc/api/Workspace"
import { toErrorBody, workspaceErrors } from "@svc/api/WorkspaceError"
import { pathOf } from "../routing/RouteTable.ts"
import type { ErrorShape } from "./Exchange.ts"

const voice: ErrorShape = (error) => ({ status: error.status, body: toBody(error) })

const chat: ErrorShape = (error) => ({ status: error.status, body: toChatErrorBody(error) })

const workspace: ErrorShape = (error, id) => {
  const body = toErrorBody(error)
  // In that API, a URL that is too long is a validation error like any other.
  const status = body.code === "VALIDATION_ERROR" ? workspaceErrors[body.code][0] : error.status
  return { status, body: { error: body, meta: { request_id: id } } }
}

/**
 * The shape of errors for a request target: the workspace API's envelope below its path, OpenAI's at the chat endpoints,
 * else the voice API's.
 */
export const errorShapeOf = (target: string): ErrorShape => {
  const path = pathOf(target)
  if (path === workspacePath || path.startsWith(`${workspacePath}/`)) return workspace
  return isChatPath(path) ? chat : voice
}
