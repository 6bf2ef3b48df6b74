import type { ResolvedOptions } from '../options.ts'
import type { State } from '../state/snapshot.ts'
import { makeHandshake, type SendRequest } from './handshake.ts'
import { createHandshakes, type Handshakes, type HandshakesOptions } from './handshakes.ts'
import { toTarget } from './http-client.ts'

/** Creates the handshakes of a service. Returns undefined if its options say that it makes none. */
export function createServiceHandshakes(
  { webhooks, handshakes: log }: State,
  { clock, handshake, allowHosts }: ResolvedOptions,
  send: SendRequest,
  listeners: Pick<HandshakesOptions, 'began' | 'notify'>,
): Handshakes | undefined {
  if (!handshake) return undefined
  return createHandshakes({
    clock,
    webhooks,
    log,
    every: handshake.every * 60_000,
    make: (webhook) => makeHandshake(webhook, toTarget(webhook.hookUrl, allowHosts), send),
    ...listeners,
  })
}
