import type { Context } from '../operation.ts'

/** Called after a sign-in at the server or at the portal. */
export function noteSignIn({ options, federation }: Context, place: 'server' | 'portal'): void {
  if (options.federated === undefined) federation.isFederated = place === 'portal'
}
