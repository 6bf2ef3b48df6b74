/** The part of Node's response that geohook uses. h3 and Hono pass it to handlers when they run on Node. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableEnded: boolean
  readonly destroyed?: boolean
  /** Set for HTTP/2, where the response itself has no `destroyed` property. */
  readonly stream?: { readonly destroyed?: boolean }
  once(event: 'close', listener: () => void): unknown
}

/**
 * Resolves with the status that a handler writes directly to Node's response, bypassing its framework, possibly after
 * the handler has returned. Rejects if the connection closes first.
 */
export async function statusOfNodeResponse(res: NodeResponse | undefined): Promise<number> {
  if (!res) throw new Error('the next handler claims to have responded, but the response object is missing')
  // An ended response counts as complete even if it is not sent yet: these frameworks do not report when it is sent.
  if (!res.writableEnded && !res.destroyed && !res.stream?.destroyed)
    await new Promise<void>((resolve) => res.once('close', resolve))
  if (!res.writableEnded) throw new Error('the connection was closed before the next handler responded')
  return res.statusCode
}
