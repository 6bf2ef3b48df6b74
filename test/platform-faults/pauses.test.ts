import { describe, expect, it } from 'vitest'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { answerOf, begin, send } from '../helpers/http.ts'
import { type ReceiverProcess, startReceiver } from './receiver-process.ts'

/** Milliseconds in which a body must arrive. Every pause is longer. */
const BODY_TIMEOUT = 1_200
const PAUSE = 1_600
const env = { OPTIONS: JSON.stringify({ bodyTimeout: BODY_TIMEOUT }) }

/** Starts a receiver that has loaded all its packages. */
async function startWarm(): Promise<ReceiverProcess> {
  const receiver = await startReceiver({ env })
  expect((await receiver.post(await receiver.open())).status).toBe(200)
  return receiver
}

const headersOf = (body: string) => ({ 'content-type': JSON_TYPE, 'x-service': signatureOf(body) })

/** Posts a unique delivery over a new connection, and resolves with the status. */
async function post({ url }: ReceiverProcess, changeType?: string): Promise<number> {
  const body = uniquePayload(changeType)
  return (await send(url, { headers: headersOf(body), body })).status
}

/**
 * Sends the start of a delivery. The returned function sends the rest, and resolves with the status. The body is larger
 * than the buffers of a connection, so the end of it arrives only after the pause.
 */
async function upload({ app, url }: ReceiverProcess): Promise<() => Promise<number>> {
  const body = uniquePayload() + ' '.repeat(500_000)
  const req = begin(`${url}upload`, headersOf(body), body.slice(0, 20))
  await app.printed(/request \/upload/)
  return async () => {
    req.end(body.slice(20))
    return (await answerOf(req)).status
  }
}

/** Sends the rest of an upload and ten other deliveries. */
const sendAll = (receiver: ReceiverProcess, finish: () => Promise<number>): Promise<number[]> =>
  Promise.all([finish(), ...Array.from({ length: 10 }, () => post(receiver))])

const countHandled = ({ app }: ReceiverProcess): number => app.stdout.split('handled').length - 1

describe('a receiver loses no delivery', () => {
  it('while a handler blocks the event loop for longer than bodyTimeout', async () => {
    const receiver = await startWarm()
    const finish = await upload(receiver)
    const blocking = post(receiver, 'Block')
    await receiver.app.printed(/blocked/)
    expect(await sendAll(receiver, finish)).toEqual(Array(11).fill(200))
    expect(await blocking).toBe(200)
    expect(countHandled(receiver)).toBe(13)
  })

  it('while the process is suspended (SIGSTOP) for longer than bodyTimeout, and ends the handlers that were running', async () => {
    const receiver = await startWarm()
    const running = post(receiver, 'Wait')
    await receiver.app.printed(/begun/)
    const finish = await upload(receiver)
    receiver.app.child.kill('SIGSTOP')
    const posted = sendAll(receiver, finish)
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
    receiver.app.child.kill('SIGCONT')
    expect(await posted).toEqual(Array(11).fill(200))
    receiver.command('handle')
    expect(await running).toBe(200)
    expect(countHandled(receiver)).toBe(13)
  })
})
