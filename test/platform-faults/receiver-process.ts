import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { answerOf } from '../helpers/http.ts'
import { type Started, startProgram } from '../helpers/process.ts'

const APP = fileURLToPath(new URL('./apps/receiver.mjs', import.meta.url))

/** A receiver in a process of its own. */
export interface ReceiverProcess {
  readonly app: Started
  readonly url: string
  /** Sends a command of `apps/receiver.mjs`. */
  command(name: string): void
  /** Opens a connection. Resolves with undefined if the receiver closes it. */
  open(): Promise<Socket | undefined>
  /** Sends a unique delivery over a connection. */
  post(socket: Socket | undefined, changeType?: string): Promise<Posted>
}

/** A delivery that a test has sent. */
export interface Posted {
  /** The member `number` of its payload. */
  number: number
  /** Status of the response, or 0 without one. */
  status: number
}

interface StartOptions {
  env?: Record<string, string | undefined>
  /** Maximum number of file descriptors of the process. */
  descriptors?: number
}

/** Starts a receiver, and kills it at the end of the test. */
export async function startReceiver({ env, descriptors }: StartOptions = {}): Promise<ReceiverProcess> {
  const app = startLimited([APP], descriptors, env)
  const [, port] = await app.printed(/port (\d+)\./)

  return {
    app,
    url: `http://127.0.0.1:${port}/`,
    command: (name) => void app.child.stdin?.write(`${name}\n`),
    open: () => openConnection(Number(port)),
    async post(socket, changeType) {
      const body = uniquePayload(changeType)
      const { number } = JSON.parse(body)
      return { number, status: await postOver(socket, body) }
    },
  }
}

/** Starts Node with a limit of file descriptors, and kills it at the end of the test. */
export function startLimited(
  args: readonly string[],
  descriptors: number | undefined,
  env?: Record<string, string | undefined>,
): Started {
  const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors};`
  const app = startProgram('sh', ['-c', `${limit} exec "$0" "$@"`, process.execPath, ...args], env, {
    stdin: 'open',
  })
  onTestFinished(async () => void (await app.stop('SIGKILL')))
  return app
}

/** Milliseconds after which a connection is not accepted: it may wait in the operating system. */
const NOT_ACCEPTED = 15_000

/** Opens a connection. Resolves when the server has responded to a GET, or with undefined if it does not accept it. */
export async function openConnection(port: number): Promise<Socket | undefined> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write('GET / HTTP/1.1\r\nhost: receiver\r\n\r\n')
  const isOpen = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => socket.destroy(), NOT_ACCEPTED)
    const settle = (result: boolean) => () => {
      clearTimeout(timer)
      resolve(result)
    }
    socket.once('data', settle(true)).once('close', settle(false))
  })
  return isOpen ? socket : undefined
}

/**
 * Posts a signed body in chunks, so that the receiver cannot read it at once. Resolves with the status, or with 0 if
 * there is no connection or no response.
 */
export async function postOver(socket: Socket | undefined, body: string, path = '/'): Promise<number> {
  if (!socket || socket.destroyed) return 0
  const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), connection: 'keep-alive' }
  const req = request({ path, method: 'POST', headers, createConnection: () => socket })
  req.write(body.slice(0, 10))
  req.end(body.slice(10))
  return Promise.race([
    answerOf(req).then(
      ({ status }) => status,
      () => 0,
    ),
    new Promise<number>((resolve) => socket.once('close', () => resolve(0))),
  ])
}

export const isAccepted = ({ status }: Posted): boolean => status === 200 || status === 202
