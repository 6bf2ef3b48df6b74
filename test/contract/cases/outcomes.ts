import type { ErrorCode } from 'geohook'
import { expect } from 'vitest'
import { send } from '../../helpers/http.ts'
import { NOW, type SetupName } from '../setups.ts'
import { deliveriesOf, linesOf, waitForLine } from '../subject.ts'
import { BODY, type ContractCase, JSON_TYPE, signatureOf, signed } from './case.ts'

const problem = (status: number, code: string, title: string): string =>
  JSON.stringify({ title, status, code })

/** Creates a case for a failure whose response asks the sender to retry after 5 seconds. */
const retryLater = (name: string, setup: SetupName, status: number, code: ErrorCode): ContractCase => ({
  name,
  codes: [code],
  async run(start) {
    const subject = await start(setup)
    const answer = await send(subject.url, signed(BODY))
    expect([answer.status, answer.headers['retry-after']]).toEqual([status, '5'])
    expect(JSON.parse(answer.text).code).toBe(code)
    expect((await linesOf(subject)).at(-1)).toMatch(new RegExp(`^(failed|refused) ${code}$`))
  },
})

/** Outcomes of correctly signed deliveries. */
export const OUTCOMES: readonly ContractCase[] = [
  {
    name: 'passes a signed delivery to its handlers and returns 200',
    async run(start) {
      const subject = await start('plain')
      const answer = await send(subject.url, signed(BODY))
      expect(answer).toMatchObject({ status: 200, text: '{"status":"handled"}' })
      expect(answer.headers['content-type']).toBe(JSON_TYPE)
      expect(await linesOf(subject)).toEqual(['accepted', 'handled'])
      const [delivery] = await deliveriesOf(subject)
      expect(delivery).toMatchObject({
        changeTypes: ['FeaturesCreated'],
        contentType: JSON_TYPE,
        keyIndex: 0,
        payload: JSON.parse(BODY),
        profile: 'service',
      })
      expect(delivery?.id).toMatch(/^[0-9a-f]{32}$/)
      expect(delivery?.headers['x-service']).toBe(signatureOf(BODY))
    },
  },
  {
    name: 'stores a delivery in the inbox and returns 202',
    async run(start) {
      const subject = await start('inbox')
      expect(await send(subject.url, signed(BODY))).toMatchObject({
        status: 202,
        text: '{"status":"stored"}',
      })
      expect(await linesOf(subject)).toEqual(['accepted', 'handled'])
      expect((await deliveriesOf(subject)).length).toBe(1)
    },
  },
  {
    name: 'accepts a form-encoded delivery',
    async run(start) {
      const subject = await start('plain')
      const body = `payload=${encodeURIComponent(BODY)}`
      const type = 'application/x-www-form-urlencoded; charset=utf-8'
      expect((await send(subject.url, signed(body, { 'content-type': type }))).status).toBe(200)
      expect((await deliveriesOf(subject))[0]).toMatchObject({
        changeTypes: ['FeaturesCreated'],
        contentType: type,
        rawBody: Buffer.from(body).toString('hex'),
      })
    },
  },
  {
    name: 'returns 200 for the retry of a completed delivery, and handles it once',
    async run(start) {
      const subject = await start('once')
      expect((await send(subject.url, signed(BODY))).text).toBe('{"status":"handled"}')
      expect(await send(subject.url, signed(BODY))).toMatchObject({
        status: 200,
        text: '{"status":"duplicate"}',
      })
      expect((await deliveriesOf(subject)).length).toBe(1)
      expect((await linesOf(subject)).at(-1)).toBe('duplicate')
    },
  },
  {
    name: 'returns 409 for a retry while the first attempt is in progress, and handles it once',
    codes: ['delivery_in_progress'],
    async run(start) {
      const subject = await start('onceWaiting')
      const first = send(subject.url, signed(BODY))
      await waitForLine(subject, 'accepted')
      const second = await send(subject.url, signed(BODY))
      expect([second.status, second.headers['retry-after']]).toEqual([409, '5'])
      expect(JSON.parse(second.text).code).toBe('delivery_in_progress')
      await subject.release()
      expect((await first).status).toBe(200)
      expect((await deliveriesOf(subject)).length).toBe(1)
    },
  },
  {
    name: 'handles the retry of a failed delivery',
    async run(start) {
      const subject = await start('onceFailing')
      expect((await send(subject.url, signed(BODY))).status).toBe(500)
      expect((await send(subject.url, signed(BODY))).text).toBe('{"status":"handled"}')
      expect((await deliveriesOf(subject)).length).toBe(2)
    },
  },
  {
    name: 'returns 500 without a reason when a handler fails',
    codes: ['handler_failed'],
    async run(start) {
      const subject = await start('failing')
      const answer = await send(subject.url, signed(BODY))
      expect(answer).toMatchObject({ status: 500, text: problem(500, 'handler_failed', 'Handler failed') })
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(await linesOf(subject)).toEqual(['accepted', 'failed handler_failed'])
      expect((await subject.entries()).at(-1)?.cause).toBe('Error: secret \u00e9 detail')
    },
  },
  retryLater('returns 503 when the inbox fails', 'fullInbox', 503, 'inbox_unavailable'),
  retryLater('returns 503 when the duplicate store fails', 'noStore', 503, 'inbox_unavailable'),
  retryLater('returns 503 when the key lookup fails', 'noKeys', 503, 'key_unavailable'),
  {
    name: 'returns 503 while the bodies in flight reach maxInFlightBytes, and accepts deliveries afterwards',
    codes: ['receiver_busy'],
    async run(start) {
      const subject = await start('crowded')
      const first = send(subject.url, signed(BODY))
      await waitForLine(subject, 'accepted')
      const second = await send(subject.url, signed(BODY))
      expect([second.status, second.headers['retry-after']]).toEqual([503, '5'])
      expect(JSON.parse(second.text).code).toBe('receiver_busy')
      expect((await linesOf(subject)).at(-1)).toBe('refused receiver_busy')
      await subject.release()
      expect((await first).status).toBe(200)
      expect((await send(subject.url, signed(BODY))).status).toBe(200)
    },
  },
  {
    name: 'returns 503 to new requests once it is closed, and still responds to requests in flight',
    codes: ['receiver_closed'],
    async run(start) {
      const subject = await start('waiting')
      const first = send(subject.url, signed(BODY))
      await waitForLine(subject, 'accepted')
      const closed = subject.close()
      const late = await send(subject.url, signed(BODY))
      expect([late.status, late.headers['retry-after']]).toEqual([503, '5'])
      await subject.release()
      await closed
      expect((await first).status).toBe(200)
    },
  },
  {
    name: 'rejects deliveries that are too old or too new with 400',
    codes: ['delivery_stale'],
    async run(start) {
      const subject = await start('fresh')
      for (const [when, status] of [
        [NOW - 60_001, 400],
        [NOW - 60_000, 200],
        [NOW + 60_000, 200],
        [NOW + 60_001, 400],
      ]) {
        const body = JSON.stringify({ events: [{ eventType: 'FeaturesCreated', when }] })
        expect((await send(subject.url, signed(body))).status).toBe(status)
      }
      expect((await linesOf(subject)).filter((line) => line === 'refused delivery_stale').length).toBe(2)
    },
  },
  {
    name: 'rejects payloads that do not match the schema with 400, without a reason',
    codes: ['payload_invalid'],
    async run(start) {
      const subject = await start('schema')
      expect((await send(subject.url, signed('{"a":1}'))).status).toBe(200)
      expect(await send(subject.url, signed('{"a":"b"}'))).toMatchObject({
        status: 400,
        text: problem(400, 'payload_invalid', 'Payload invalid'),
      })
      expect((await linesOf(subject)).at(-1)).toBe('refused payload_invalid')
    },
  },
]
