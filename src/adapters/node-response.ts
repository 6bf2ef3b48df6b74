/** What geohook needs of Node's own response, where a framework of web `Response`s hands it to its handlers. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableEnded: boolean
  readonly destroyed?: boolean
  /** Of HTTP/2, where the response itself does not know. */
  readonly stream?: { readonly destroyed?: boolean }
  once(event: 'close', listener: () => void): unknown
}

/**
 * The status of an answer that a handler writes to Node's own response, beside its framework. Resolves when the
 * handler has ended it, which may be after it has returned; rejects where that does not happen.
 */
export async function statusOfNodeResponse(res: NodeResponse | undefined): Promise<number> {
  if (!res) throw new Error('the next handler says that it has answered, and there is nothing to answer with')
  // Ended is enough: of its own responses such a framework does not tell either whether they were sent.
  if (!res.writableEnded && !res.destroyed && !res.stream?.destroyed)
    await new Promise<void>((resolve) => res.once('close', resolve))
  if (!res.writableEnded) throw new Error('the connection was closed before the next handler had answered')
  return res.statusCode
}
