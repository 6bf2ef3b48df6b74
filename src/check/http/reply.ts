/** A response, or the reason why none arrived. */
export type Reply = ReceivedResponse | Silence

/** A response as it came over the connection. */
export interface ReceivedResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The body, decoded from chunks. Bytes after {@link MAX_BODY} are missing. */
  readonly body: Buffer
  /** The first {@link MAX_EXCERPT} characters of the body, without the key. */
  readonly excerpt: string
  /** Milliseconds from the last byte of the request, or from the start of waiting, to the end of the response. */
  readonly milliseconds: number
}

/** No response. */
export interface Silence {
  readonly status: undefined
  /** `timeout`: the connection was still open. `malformed`: the receiver sent something other than HTTP/1.1. */
  readonly problem: 'timeout' | 'closed' | 'malformed'
  readonly milliseconds: number
}

/** Maximum number of bytes to keep of a body. */
export const MAX_BODY = 65_536
/** Maximum number of characters of an excerpt. */
export const MAX_EXCERPT = 480

/** Returns the values of a header, joined as RFC 9110 section 5.2 does; undefined if it is missing. */
export function headerOf(reply: Reply, name: string): string | undefined {
  if (reply.status === undefined) return undefined
  const values = reply.headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value)
  return values.length > 0 ? values.join(', ') : undefined
}

/** Returns true for 2xx, which senders count as success. */
export const isSuccess = ({ status }: Reply): boolean => status !== undefined && status >= 200 && status < 300

/** Returns true for 4xx: the receiver has refused the request, and the sender is to blame. */
export const isRefusal = (reply: Reply): reply is ReceivedResponse =>
  reply.status !== undefined && reply.status >= 400 && reply.status < 500
