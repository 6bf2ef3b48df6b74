import {
  type Connection,
  openConnection,
  type ReadOptions,
  type RecordedReply,
  type RequestParts,
  type Target,
  writeHead,
  writeRequest,
} from './connection.ts'
import { MAX_EXCERPT, type Reply } from './response.ts'
import type { Sender } from './sender.ts'
import type { CheckObserver, HandlerSwitch } from './types.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** What is changed in a new valid delivery. */
export interface DeliveryParts extends Omit<RequestParts, 'body'> {
  /** The body, or what makes it from that of the valid delivery. */
  readonly body?: Uint8Array | ((valid: Buffer) => Uint8Array)
  /**
   * The value of the signature header, or what makes it from the body of the valid delivery. Default: the valid one for
   * the body. `null` leaves the header out.
   */
  readonly credential?: string | null | ((valid: Buffer) => string)
  /** Default `application/json`. `null` leaves the header out. */
  readonly contentType?: string | null
}

/** What scenarios use to send requests. */
export class Probe {
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
  readonly replies: RecordedReply[] = []
  readonly #connections = new Set<Connection>()

  constructor(given: Pick<Probe, 'target' | 'sender' | 'observer' | 'failHandler' | 'unknownPath'>) {
    this.target = given.target
    this.url = given.target.url
    this.sender = given.sender
    this.timeout = given.target.timeout
    this.observer = given.observer
    this.failHandler = given.failHandler
    this.unknownPath = given.unknownPath
  }

  /** Opens a connection, which is closed at the latest at the end of the run. */
  async connect(): Promise<Connection> {
    const connection = await openConnection(this.target, this.replies)
    this.#connections.add(connection)
    return connection
  }

  /** Opens a connection, and closes it when the function has ended. Returns what the function returns. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.connect()
    try {
      return await work(connection)
    } finally {
      this.#connections.delete(connection)
      connection.destroy()
    }
  }

  /** Opens a connection, writes to it, reads the response, and closes the connection. */
  exchange(write: (connection: Connection) => Promise<void>, options?: ReadOptions): Promise<Reply> {
    return this.use(async (connection) => {
      await write(connection)
      return connection.read(options)
    })
  }

  /** Sends any request on a new connection. */
  send(request: RequestParts): Promise<Reply> {
    return this.use((connection) => {
      // Not awaited, because a receiver may respond before it has read the whole body.
      void connection.write(writeRequest(this.target, request))
      return connection.read({ request })
    })
  }

  /** Sends a delivery on a new connection. */
  deliver(parts?: DeliveryParts): Promise<Reply> {
    return this.send(this.#toRequest(parts))
  }

  /** Returns a delivery as bytes. */
  bytes(parts?: DeliveryParts): Buffer {
    return writeRequest(this.target, this.#toRequest(parts))
  }

  /** Returns the head of a delivery as bytes. */
  head(parts: DeliveryParts): Buffer {
    return writeHead(this.target, this.#toRequest(parts))
  }

  #toRequest({
    body: given,
    credential,
    contentType,
    headers = [],
    ...parts
  }: DeliveryParts = {}): RequestParts {
    const valid = this.sender.create().body
    const body = typeof given === 'function' ? given(valid) : (given ?? valid)
    const signature = typeof credential === 'function' ? credential(valid) : credential
    const optional = [
      ['content-type', contentType === undefined ? 'application/json' : contentType],
      [this.sender.header, signature === undefined ? this.sender.credential(body) : signature],
    ] as const
    const present = optional.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
    return { ...parts, headers: [...present, ...headers], body }
  }

  /** Returns a header or another text of the receiver as the evidence shows it: without the key, and not too long. */
  show(text: string): string {
    return shorten(this.target.hide(text, MAX_EXCERPT))
  }

  /** Closes all connections. */
  close(): void {
    for (const connection of this.#connections) connection.destroy()
  }
}

/** Maximum number of characters of a body or header in the evidence. */
const MAX_SHOWN = 120

/** Replaces control characters, joins white space, and cuts. The key must already be hidden. */
export function shorten(text: string): string {
  const shown = text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '\u{fffd}').trim()
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown
}
