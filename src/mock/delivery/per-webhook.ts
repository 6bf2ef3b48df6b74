import type { Webhook } from '../webhook.ts'

/** Makes something of a webhook once, until it is edited: then there is another object for it. */
export function perWebhook<T>(make: (webhook: Readonly<Webhook>) => T): (webhook: Readonly<Webhook>) => T {
  const known = new WeakMap<Readonly<Webhook>, T>()
  return (webhook) => {
    const before = known.get(webhook)
    if (before !== undefined) return before
    const made = make(webhook)
    known.set(webhook, made)
    return made
  }
}
