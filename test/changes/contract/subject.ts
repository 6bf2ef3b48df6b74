import type { WebhookEvent } from 'geohook'
import { type Attachment, type Changes, type ChangesOptions, createChanges } from 'geohook/changes'

/** One use of a client, as JSON: the runtime that makes it can be another process. */
export interface Use {
  options: Omit<ChangesOptions, 'token' | 'inbox' | 'observer'>
  /** Tokens, in the order in which the client gets them. The last one is repeated. */
  tokens?: string[]
  /** What to extract. */
  events?: WebhookEvent[]
  /** What to download, in place of an extraction. */
  attachment?: Attachment
  /** Milliseconds after which the signal is aborted. */
  abortAfter?: number
}

/** What a use resulted in. */
export interface Used {
  changes?: Changes
  text?: string
  error?: Record<'name' | 'code' | 'message' | 'hint' | 'state' | 'serviceCode', unknown>
  /** Number of tokens that the client got. */
  tokens: number
}

/** Uses a client, in this process or in another runtime. */
export type Start = (use: Use) => Promise<Used>

/** Uses a client in this process. */
export async function runHere(use: Use): Promise<Used> {
  const { options, tokens = [], events = [], attachment, abortAfter } = use
  let count = 0
  const token = (): string => tokens[Math.min(count++, tokens.length - 1)] as string
  const client = createChanges({ ...options, ...(tokens.length > 0 ? { token } : {}) })
  const controller = new AbortController()
  const { signal } = controller
  const timer =
    abortAfter === undefined ? undefined : setTimeout(() => controller.abort(new Error('stop')), abortAfter)
  try {
    if (attachment) {
      const stream = await client.download(attachment, { signal })
      return { text: await new Response(stream).text(), tokens: count }
    }
    return { changes: await client.of(events, { signal }), tokens: count }
  } catch (caught) {
    const { name, code, message, hint, state, serviceCode } = caught as NonNullable<Used['error']>
    return { error: { name, code, message, hint, state, serviceCode }, tokens: count }
  } finally {
    clearTimeout(timer)
  }
}
