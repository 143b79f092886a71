import type { ModelRequest as AskedRequest } from "@svc/conversation/Command"
import { alternating } from "@svc/providers/AlternatingRoles"
import type { LanguageModel, ModelRequest } from "@svc/providers/LanguageModel"
import type { Context } from "effect"

export type Model = Context.Tag.Service<LanguageModel>

type Choice = Pick<AskedRequest, "model" | "provider">

/**
 * The provider of a request: the first that offers the named model, else the preferred one; fallbacks (`provider` from
 * 1) are the others in order.
 */
export const chooseModel = (models: ReadonlyArray<Model>, { model, provider = 0 }: Choice): Model | undefined => {
  const first = models.find((one) => model !== undefined && one.models.includes(model)) ?? models[0]
  const others = models.filter((one) => one !== first)
  return [first, ...others][Math.min(provider, models.length - 1)]
}

/** The name for the request, where the provider offers it: a fallback uses its own preferred model. */
export const named = ({ models }: Model, { model }: Pick<Choice, "model">): { readonly model?: string } =>
  model !== undefined && models.includes(model) ? { model } : {}

/** The request as this model takes it. */
export const requestFor = (model: Model, request: ModelRequest): ModelRequest =>
  model.alternatingRoles === true ? { ...request, messages: alternating(request.messages) } : request
