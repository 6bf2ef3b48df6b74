import type { ErrorCode } from 'geohook'
import { expect } from 'vitest'
import { send } from '../../helpers/http.ts'
import { NOW, type SetupName } from '../setups.ts'
import { deliveriesOf, linesOf, told } from '../subject.ts'
import { BODY, type ContractCase, JSON_TYPE, signatureOf, signed } from './case.ts'

const problem = (status: number, code: string, title: string): string =>
  JSON.stringify({ title, status, code })

/** An answer that a sender should take as: try again soon. */
const later = (name: string, setup: SetupName, status: number, code: ErrorCode): ContractCase => ({
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

/** What becomes of deliveries that are signed as they should be. */
export const OUTCOMES: readonly ContractCase[] = [
  {
    name: 'hands a signed delivery to its handlers: 200',
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
    name: 'stores a delivery in the inbox: 202',
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
    name: 'takes a form',
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
    name: 'answers the retry of a delivery that is done: 200, and handles it once',
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
    name: 'answers a retry while the first attempt is at work: 409, and handles it once',
    codes: ['delivery_in_progress'],
    async run(start) {
      const subject = await start('onceWaiting')
      const first = send(subject.url, signed(BODY))
      await told(subject, 'accepted')
      const second = await send(subject.url, signed(BODY))
      expect([second.status, second.headers['retry-after']]).toEqual([409, '5'])
      expect(JSON.parse(second.text).code).toBe('delivery_in_progress')
      await subject.release()
      expect((await first).status).toBe(200)
      expect((await deliveriesOf(subject)).length).toBe(1)
    },
  },
  {
    name: 'lets the retry of a delivery that failed run',
    async run(start) {
      const subject = await start('onceFailing')
      expect((await send(subject.url, signed(BODY))).status).toBe(500)
      expect((await send(subject.url, signed(BODY))).text).toBe('{"status":"handled"}')
      expect((await deliveriesOf(subject)).length).toBe(2)
    },
  },
  {
    name: 'answers 500 when a handler fails, and says nothing of why',
    codes: ['handler_failed'],
    async run(start) {
      const subject = await start('failing')
      const answer = await send(subject.url, signed(BODY))
      expect(answer).toMatchObject({ status: 500, text: problem(500, 'handler_failed', 'Handler failed') })
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(await linesOf(subject)).toEqual(['accepted', 'failed handler_failed'])
      expect((await subject.entries()).at(-1)?.causes).toEqual(['Error: secret \u00e9 detail'])
    },
  },
  later('answers 503 when the inbox fails', 'fullInbox', 503, 'inbox_unavailable'),
  later('answers 503 when the store of duplicates fails', 'noStore', 503, 'inbox_unavailable'),
  later('answers 503 when the keys cannot be had', 'noKeys', 503, 'key_unavailable'),
  {
    name: 'answers 503 while the bodies in flight fill maxInFlightBytes, and takes the next one afterwards',
    codes: ['receiver_busy'],
    async run(start) {
      const subject = await start('crowded')
      const first = send(subject.url, signed(BODY))
      await told(subject, 'accepted')
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
    name: 'answers 503 once it is closed, and what is at work is still answered',
    codes: ['receiver_closed'],
    async run(start) {
      const subject = await start('waiting')
      const first = send(subject.url, signed(BODY))
      await told(subject, 'accepted')
      const closed = subject.close()
      const late = await send(subject.url, signed(BODY))
      expect([late.status, late.headers['retry-after']]).toEqual([503, '5'])
      await subject.release()
      await closed
      expect((await first).status).toBe(200)
    },
  },
  {
    name: 'refuses what is too old or too new: 400',
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
    name: 'refuses what the schema does not take: 400, and says nothing of why',
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
