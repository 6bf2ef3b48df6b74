import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE } from '../helpers/deliver.ts'
import { ON_SOCKETS } from '../helpers/mounts.ts'
import type { SetupName } from './setups.ts'
import { startHere } from './subject.ts'

const bodyOf = (length: number): string => `{"a":"${'x'.repeat(length)}"}`
const SMALL = bodyOf(10)
const LARGE = bodyOf(120_000)
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

interface Upload {
  body: string
  connection: string
  /** Sends the body after the receiver has the headers. */
  isLater: boolean
}

/** Sends a request that the receiver refuses. Returns the response without its `date` header. */
async function refuse(url: string, header: string, { body, connection, isLater }: Upload): Promise<string> {
  const sender = open(url)
  const expect100 = isLater ? 'expect: 100-continue\r\n' : ''
  const head = `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\n${header}content-length: ${body.length}\r\n${expect100}connection: ${connection}\r\n\r\n`
  if (isLater) {
    await sender.write(head)
    await sender.received(/HTTP\/1.1 (100|4)/) // the server has received the head
    await sender.write(body.slice(0, 50_000))
    await sender.write(body.slice(50_000))
  } else await sender.write(head + body)
  const [response = ''] = RESPONSE.exec(await sender.received(RESPONSE)) ?? []
  if (/^connection: close/im.test(response)) await sender.ended
  else {
    await sender.write(`GET /hook HTTP/1.1\r\nhost: a\r\n\r\n`)
    await sender.received(/HTTP\/1.1 405/)
  }
  return response.replace(/^date: .*$/im, '')
}

describe.each(ON_SOCKETS)('the 401 responses of %s', (_, { mount }) => {
  const { start, stop } = startHere(mount)
  afterEach(stop)

  /** Returns the responses to each kind of refused request, by error code. */
  async function refuseEach(upload: Upload): Promise<Map<string, string>> {
    const answers = new Map<string, string>()
    const urls = new Map<SetupName, string>()
    for (const [code, [setup, header]] of Object.entries(REFUSALS)) {
      const url = urls.get(setup) ?? (await start(setup)).url
      urls.set(setup, url)
      answers.set(code, await refuse(url, header, upload))
    }
    return answers
  }

  it.each<[string, Upload]>([
    ['keep-alive, body at once', { connection: 'keep-alive', body: SMALL, isLater: false }],
    ['close, body at once', { connection: 'close', body: LARGE, isLater: false }],
    ['close, body later', { connection: 'close', body: LARGE, isLater: true }],
  ])('are identical, and match the connection header: %s', async (_, upload) => {
    const answers = [...(await refuseEach(upload)).values()]
    expect(answers).toEqual(answers.map(() => answers[0]))
    expect(answers[0]).toMatch(new RegExp(`^connection: ${upload.connection}\r$`, 'im'))
  })

  it('close the connection only if the body has not arrived, which depends on the signature header alone', async () => {
    const answers = await refuseEach({ connection: 'keep-alive', body: LARGE, isLater: true })
    const connections = [...answers].map(([code, answer]) => [
      code,
      /^connection: (.*)\r$/im.exec(answer)?.[1],
    ])
    expect(Object.fromEntries(connections)).toEqual({
      signature_missing: 'close',
      signature_malformed: 'close',
      signature_mismatch: 'keep-alive',
      key_unknown: 'keep-alive',
    })
    const rest = [...answers.values()].map((answer) =>
      answer.replace(/^(connection|keep-alive): .*\r\n/gim, ''),
    )
    expect(rest).toEqual(rest.map(() => rest[0]))
  })
})
