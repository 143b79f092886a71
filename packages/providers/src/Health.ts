/** How a provider is, for `/readyz`, metrics and `svc plugins list`. `reason` is one plain sentence. */
export type Health = { readonly healthy: true } | { readonly healthy: false; readonly reason: string }

export const healthy: Health = { healthy: true }
