import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE } from '../helpers/deliver.ts'
import { ON_SOCKETS } from '../helpers/mounts.ts'
import type { SetupName } from './setups.ts'
import { startHere } from './subject.ts'

const BODY = `{"a":"${'x'.repeat(120_000)}"}`
const WRONG = `x-service: ${'0'.repeat(64)}\r\n`

/** Setup and header that cause each error. For the first two, the receiver responds before it reads the body. */
const REFUSALS: Record<string, [SetupName, string]> = {
  signature_missing: ['plain', ''],
  signature_malformed: ['plain', 'x-service: oops\r\n'],
  signature_mismatch: ['plain', WRONG],
  key_unknown: ['noKey', WRONG],
}

interface Sender {
  write(text: string): Promise<void>
  /** Resolves with the received text once the text matches the pattern. */
  received(pattern: RegExp): Promise<string>
  /** Resolves when the server ends the connection. Rejects when the server resets it. */
  ended: Promise<unknown>
}

function open(url: string): Sender {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => (text += part))
  const ended = once(socket, 'end')
  ended.catch(() => {})
  return {
    write: (more) => new Promise((resolve, reject) => socket.write(more, (e) => (e ? reject(e) : resolve()))),
    async received(pattern) {
      while (!pattern.test(text)) await once(socket, 'data')
      return text
    },
    ended,
  }
}

/** Matches the head and body of a response. The end of a chunked body may arrive later. */
const RESPONSE = /HTTP\/1.1 4.*?\r\n\r\n.*?\{.*?\}/s

/** Sends a request that the receiver refuses. Returns the response without its `date` header. */
async function refuse(url: string, header: string, connection: string, later: boolean): Promise<string> {
  const sender = open(url)
  const expect100 = later ? 'expect: 100-continue\r\n' : ''
  const head = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\n${header}content-length: ${BODY.length}\r\n${expect100}connection: ${connection}\r\n\r\n`
  if (later) {
    await sender.write(head)
    await sender.received(/HTTP\/1.1 (100|4)/) // the server has received the head
    await sender.write(BODY.slice(0, 50_000))
    await sender.write(BODY.slice(50_000))
  } else await sender.write(head + BODY)
  const [response = ''] = RESPONSE.exec(await sender.received(RESPONSE)) ?? []
  if (connection === 'close') await sender.ended
  else {
    await sender.write(`GET /hook HTTP/1.1\r\nhost: a\r\n\r\n`)
    await sender.received(/HTTP\/1.1 405/)
  }
  return response.replace(/^date: .*$/im, '')
}

describe.each(ON_SOCKETS)('the 401 responses of %s', (_, { mount }) => {
  const { start, stop } = startHere(mount)
  afterEach(stop)

  it.each(['keep-alive', 'close'])(
    'are identical, and match the connection header: %s',
    async (connection) => {
      const answers = new Map<string, string[]>()
      for (const [code, [setup, header]] of Object.entries(REFUSALS)) {
        const { url } = await start(setup)
        for (const later of [false, true]) {
          const answer = await refuse(url, header, connection, later)
          answers.set(answer, [...(answers.get(answer) ?? []), `${code} ${later ? 'later' : 'at once'}`])
        }
      }
      expect(
        [...answers.values()].map(({ length }) => length),
        JSON.stringify([...answers]),
      ).toEqual([8])
      expect([...answers.keys()][0]).toMatch(new RegExp(`^connection: ${connection}\r$`, 'im'))
    },
  )
})
