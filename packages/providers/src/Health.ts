/**
 * Whether a provider works, for `/readyz` and `svc doctor`. `reason` is one plain sentence. Every provider reports it.
 */
export type Health = { readonly healthy: true } | { readonly healthy: false; readonly reason: string }

export const healthy: Health = { healthy: true }
