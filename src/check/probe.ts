import {
  type Connection,
  openConnection,
  type ReadOptions,
  type RequestParts,
  type Target,
  writeRequest,
} from './connection.ts'
import { MAX_EXCERPT, type Reply } from './response.ts'
import type { Sender } from './sender.ts'
import type { CheckObserver, HandlerSwitch } from './types.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

type Headers = NonNullable<RequestParts['headers']>

/** A reply, and the request if a scenario judges them together. */
export interface RecordedReply {
  readonly reply: Reply
  readonly request?: RequestParts | undefined
}

/** How to write a request with a body. */
export interface DeliveryParts {
  /** The value of the signature header. Default: the valid one. `null` leaves the header out. */
  readonly credential?: string | null
  /** Default `application/json`. `null` leaves the header out. */
  readonly contentType?: string | null
  readonly method?: string
  /** Path and query. Default: those of the payload URL. */
  readonly path?: string
  readonly headers?: Headers
}

/** What scenarios use to send requests. */
export interface Probe {
  readonly target: Target
  /** The URL of the target. */
  readonly url: URL
  readonly sender: Sender
  /** Milliseconds to wait for each response. */
  readonly timeout: number
  readonly observer: CheckObserver | undefined
  readonly failHandler: HandlerSwitch | undefined
  /** Path and query for a tenant that does not exist. */
  readonly unknownPath: string | undefined
  /** All replies so far. */
  readonly replies: readonly RecordedReply[]
  /** Opens a connection, which is closed at the latest at the end of the run. */
  connect(): Promise<Connection>
  /** Returns a request that carries this body, with a valid signature unless the parts say otherwise. */
  request(body: Uint8Array, parts?: DeliveryParts): RequestParts
  /** Returns the same request as bytes. */
  bytes(body: Uint8Array, parts?: DeliveryParts): Buffer
  /** Sends such a request on a new connection. */
  deliver(body: Uint8Array, parts?: DeliveryParts): Promise<Reply>
  /** Opens a connection, and closes it when the function has ended. Returns what the function returns. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Opens a connection, writes to it, records the response, and closes the connection. */
  exchange(write: (connection: Connection) => Promise<void>, options?: ReadOptions): Promise<Reply>
  /** Sends any request on a new connection. */
  send(request: RequestParts): Promise<Reply>
  /** Keeps a reply for the scenarios that judge all of them. Returns it. */
  record(reply: Reply, request?: RequestParts): Reply
  /** Returns a header or another text of the receiver as the evidence shows it: without the key, and not too long. */
  show(text: string): string
  /** Closes all connections. */
  close(): void
}

/** @param headers are added to each request */
export function createProbe(
  target: Target,
  sender: Sender,
  { headers, ...given }: { headers: Headers } & Pick<Probe, 'observer' | 'failHandler' | 'unknownPath'>,
): Probe {
  const replies: RecordedReply[] = []
  const connections = new Set<Connection>()

  async function connect(): Promise<Connection> {
    const connection = await openConnection(target)
    connections.add(connection)
    return connection
  }

  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await connect()
    try {
      return await work(connection)
    } finally {
      connections.delete(connection)
      connection.destroy()
    }
  }

  const exchange: Probe['exchange'] = (write, options) =>
    use(async (connection) => {
      await write(connection)
      return record(await connection.read(options))
    })

  function record(reply: Reply, request?: RequestParts): Reply {
    replies.push({ reply, request })
    return reply
  }

  function request(body: Uint8Array, parts: DeliveryParts = {}): RequestParts {
    const { contentType = 'application/json', credential = sender.credential(body), method, path } = parts
    return {
      ...(method === undefined ? {} : { method }),
      ...(path === undefined ? {} : { path }),
      headers: [
        ...(contentType === null ? [] : [['content-type', contentType] as const]),
        ...(credential === null ? [] : [[sender.header, credential] as const]),
        ...(parts.headers ?? []),
      ],
      body,
    }
  }

  const withHeaders = (parts: RequestParts): RequestParts => ({
    ...parts,
    headers: [...headers, ...(parts.headers ?? [])],
  })

  const send = (parts: RequestParts): Promise<Reply> =>
    use(async (connection) => {
      // Not awaited, because a receiver may respond before it has read the whole body.
      void connection.write(writeRequest(target.url, withHeaders(parts)))
      return record(await connection.read({ method: parts.method }), parts)
    })

  return {
    target,
    url: target.url,
    sender,
    timeout: target.timeout,
    ...given,
    replies,
    connect,
    use,
    exchange,
    request: (body, parts) => withHeaders(request(body, parts)),
    bytes: (body, parts) => writeRequest(target.url, withHeaders(request(body, parts))),
    deliver: (body, parts) => send(request(body, parts)),
    send,
    record,
    show: (text) => shorten(target.hide(text, MAX_EXCERPT)),
    close() {
      for (const connection of connections) connection.destroy()
    },
  }
}

/** Maximum number of characters of a body or header in the evidence. */
const MAX_SHOWN = 120

/** Replaces control characters, joins white space, and cuts. The key must already be hidden. */
export function shorten(text: string): string {
  const shown = text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '\u{fffd}').trim()
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown
}
