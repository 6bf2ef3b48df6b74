import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { signatureOf } from '../../helpers/deliver.ts'
import { CREATED, createAt, NOW, named, payloadOf, receive } from './support.ts'

/** Returns the change types in the order in which they arrived. */
const orderOf = ({ requests }: { requests: { body: Buffer }[] }) =>
  requests.map((request) => payloadOf(request).events[0]?.eventType)

describe('faults that change the order', () => {
  async function four(delay?: number, times?: number) {
    const receiver = await receive()
    const { service, clock } = createAt(named(receiver.url, { a: {}, b: { serviceName: 'Roads' } }))
    service.faults.add({ fault: 'reordered', webhookId: 'a', times, delay })
    const trigger = (changeType: string, serviceName = 'Parcels') =>
      service.trigger({ serviceName, changeType })
    return { receiver, service, clock, trigger }
  }

  it('reordered: the delivery arrives after the next delivery of its webhook', async () => {
    const { receiver, trigger } = await four(undefined, 1)
    const first = trigger('First')
    await trigger('OfAnother', 'Roads')
    expect(orderOf(receiver)).toEqual(['OfAnother'])
    await trigger('Second')
    expect(await first).toHaveLength(1)
    await trigger('Third')
    expect(orderOf(receiver)).toEqual(['OfAnother', 'Second', 'First', 'Third'])
  })

  it('reordered, on all deliveries: each pair is swapped', async () => {
    const { receiver, trigger } = await four()
    const triggered: Promise<unknown>[] = []
    for (const name of ['First', 'Second', 'Third', 'Fourth']) {
      triggered.push(trigger(name))
      if (triggered.length % 2 === 0) await Promise.all(triggered)
    }
    expect(orderOf(receiver)).toEqual(['Second', 'First', 'Fourth', 'Third'])
  })

  it.each([
    ['ten seconds', undefined, 10_000],
    ['its delay', 3_000, 3_000],
  ])('reordered: without a later delivery, it is sent after %s', async (_, delay, milliseconds) => {
    const { clock, receiver, trigger } = await four(delay, 1)
    const first = trigger('First')
    await clock.advance(milliseconds - 1)
    expect(receiver.requests).toHaveLength(0)
    await clock.advance(1)
    expect(await first).toMatchObject([{ sentAt: NOW + milliseconds, fault: 'reordered' }])
  })

  it.each([
    ['five seconds', undefined, 5_000],
    ['its delay', 60_000, 60_000],
    ['no time', 0, 0],
  ])('delayed: it is sent after %s', async (_, delay, milliseconds) => {
    const receiver = await receive()
    const { service, clock } = createAt(named(receiver.url, { a: {} }))
    service.faults.add({ fault: 'delayed', times: 1, delay })
    const delayed = service.trigger(CREATED)
    if (milliseconds > 0) {
      await service.trigger({ ...CREATED, changeType: 'Second' })
      await clock.advance(milliseconds - 1)
      expect(orderOf(receiver)).toEqual(['Second'])
      await clock.advance(1)
    }
    expect(await delayed).toMatchObject([{ sentAt: NOW + milliseconds, fault: 'delayed' }])
  })

  it.each(['delayed', 'reordered'] as const)(
    '%s: close() sends the delivery immediately; reset() drops it',
    async (fault) => {
      for (const [end, sent] of [
        ['close', 1],
        ['reset', 0],
      ] as const) {
        const receiver = await receive()
        const { service } = createAt(named(receiver.url, { a: {} }))
        service.faults.add({ fault })
        const triggered = service.trigger(CREATED)
        await service[end]()
        expect([(await triggered).length, receiver.requests.length]).toEqual([sent, sent])
      }
    },
  )
})

describe('faults of the connection', () => {
  it.each(['slow_drip', 'wrong_length', 'connection_dropped', 'answer_lost'] as const)(
    '%s: the attempts end even if no receiver listens',
    async (fault) => {
      const { service } = createAt(named('http://127.0.0.1:9/hook', { a: {} }), {
        settings: { notificationElapsedTimeInSeconds: 0 },
      })
      service.faults.add({ fault })
      const attempts = await service.trigger(CREATED)
      expect(attempts).toHaveLength(3)
      for (const { error } of attempts) expect(error).toContain('ECONNREFUSED')
    },
  )

  it.each(['slow_drip', 'wrong_length'] as const)(
    '%s: the timeout ends an attempt whose receiver waits for the rest',
    async (fault) => {
      const receiver = await receive() // this receiver responds only after it has received the whole body
      const settings = { notificationTimeOutInSeconds: 3, notificationElapsedTimeInSeconds: 0 }
      const { service } = createAt(named(receiver.url, { a: {} }), { settings })
      service.faults.add({ fault })
      const [first, second] = await service.trigger(CREATED)
      expect(first?.error).toBe('no response within 3 s')
      expect(second?.answer?.status).toBe(200)
    },
  )

  it.each(['slow_drip', 'wrong_length'] as const)(
    '%s: an attempt ends if the receiver switches protocols',
    async (fault) => {
      const server = createServer((socket) => {
        socket
          .on('error', () => {})
          .once('data', () =>
            socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
          )
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
      const settings = { notificationAttempts: 1, notificationTimeOutInSeconds: 1 }
      const { service } = createAt(named(url, { a: {} }), { settings })
      service.faults.add({ fault })
      const [attempt] = await service.trigger(CREATED)
      server.close()
      expect(attempt?.error).toBe('the host switched to another protocol')
    },
  )

  it('slow_drip: a receiver that waits long enough gets the complete body', async () => {
    const receiver = await receive()
    const { service } = createAt(named(receiver.url, { a: {} }))
    service.faults.add({ fault: 'slow_drip', delay: 0 })
    const [attempt] = await service.trigger(CREATED)
    expect(attempt?.answer?.status).toBe(200)
    expect(receiver.requests[0]?.headers['x-service']).toBe(signatureOf(receiver.requests[0]!.body))
  })
})
