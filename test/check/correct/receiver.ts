import type { Mounted } from '../../helpers/mounts/mounted.ts'

/** A correct receiver without any code of geohook. `handle` gets each payload once. */
export type StartReceiver = (key: string, handle: (payload: unknown) => void) => Promise<Mounted>

/** Maximum size of a body in bytes. */
export const LIMIT = 1_000_000

/** Options for servers of Node: a whole request must arrive within five seconds. */
export const SERVER_OPTIONS = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 100,
}

/** Returns the payload of a verified body. Throws if the body has no payload. */
export function parse(body: Uint8Array, contentType = ''): unknown {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  const isForm = /^application\/x-www-form-urlencoded/i.test(contentType)
  if (!isForm) return JSON.parse(text)
  if (!text.startsWith('payload=')) throw new Error('not a form')
  return JSON.parse(new URLSearchParams(text).get('payload') ?? '')
}

/** Returns a function that handles each signature once. It returns the status of the response. */
export function createOnce(): (signature: string, handle: () => unknown) => Promise<number> {
  const states = new Map<string, 'pending' | 'done'>()
  return async (signature, handle) => {
    const state = states.get(signature)
    if (state !== undefined) return state === 'done' ? 200 : 409
    states.set(signature, 'pending')
    try {
      await handle()
      states.set(signature, 'done')
      return 200
    } catch {
      states.delete(signature)
      return 400
    }
  }
}
