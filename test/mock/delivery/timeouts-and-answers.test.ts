import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { alter, CREATED, createAt, named, receive } from './support.ts'

// What is sent in one turn of the event loop shares its timer, and answers that are the same are one object.

it('an attempt keeps the timeout with which it began', async () => {
  const silent = await receive(() => {})
  const quick = await receive()
  const settings = { notificationAttempts: 1, notificationTimeOutInSeconds: 1 }
  const { service } = createAt(
    [...named(silent.url, { a: { changeTypes: ['A'] } }), ...named(quick.url, { b: { changeTypes: ['B'] } })],
    { settings },
  )
  const trigger = async (changeType: string) => {
    const [attempt] = await service.trigger({ ...CREATED, changeType })
    return attempt?.error ?? attempt?.answer?.status
  }
  const first = trigger('A')
  const second = trigger('B')
  await silent.arrived(1)
  service.restore({
    ...service.snapshot(),
    settings: { ...settings, notificationTimeOutInSeconds: 2 },
  })
  const third = trigger('A')
  expect(await second).toBe(200)
  expect(await Promise.race([first, third])).toBe('no answer within 1 s')
  expect(await third).toBe('no answer within 2 s')
})

it('many that are never answered all end', async () => {
  const { url, arrived } = await receive(() => {})
  const { service } = createAt(named(url, { a: {} }), {
    settings: { notificationAttempts: 1, notificationTimeOutInSeconds: 1 },
    concurrency: 20,
  })
  const works = Array.from({ length: 20 }, () => service.trigger(CREATED))
  await arrived(20)
  const errors = (await Promise.all(works)).map(([attempt]) => attempt?.error)
  expect(errors).toEqual(Array(20).fill('no answer within 1 s'))
})

it('answers are recorded as they were, whatever the one before was', async () => {
  const answers: [status: number, headers: [string, string][], body: string][] = [
    [200, [['a', '1']], 'ok'],
    [200, [['a', '1']], 'ok'],
    [201, [['a', '1']], 'ok'],
    [200, [['a', '2']], 'ok'],
    [200, [['a', '1']], 'no'],
    [200, [['constructor', '1']], 'no'],
    [200, [['tostring', '1']], 'no'],
    [
      200,
      [
        ['a', '1'],
        ['b', '2'],
      ],
      'no',
    ],
    [
      200,
      [
        ['b', '2'],
        ['a', '1'],
      ],
      'no',
    ],
    [200, [], 'no'],
    [
      200,
      [
        ['set-cookie', 'x=1'],
        ['set-cookie', 'y=2'],
      ],
      'no',
    ],
    [
      200,
      [
        ['set-cookie', 'x=1'],
        ['set-cookie', 'y=3'],
      ],
      'no',
    ],
  ]
  const { url } = await receive((number, _req, res) => {
    const [status, headers, body] = answers[(number - 1) % answers.length]!
    res.sendDate = false
    res.writeHead(status, [...headers.flat(), 'content-length', String(body.length)]).end(body)
  })
  const { service } = createAt(named(url, { a: {} }))
  for (let round = 0; round < 2; round++) {
    for (const [status, headers, body] of answers) {
      const [attempt] = await service.trigger(CREATED)
      const values = new Map<string, string | string[]>()
      for (const [name, value] of headers) values.set(name, [values.get(name) ?? [], value].flat())
      const expected = [...values].map(([name, [value, ...others]]) =>
        others.length > 0 ? [name, [value, ...others]] : [name, value],
      )
      const { connection: _c, 'keep-alive': _k, 'content-length': _l, ...others } = attempt!.answer!.headers
      expect([attempt?.answer?.status, Object.entries(others), attempt?.answer?.body]).toEqual([
        status,
        expected,
        body,
      ])
    }
  }
})

it('what one attempt was answered cannot be changed through another', async () => {
  const { url } = await receive()
  const { service } = createAt(named(url, { a: {} }))
  for (const fault of [undefined, 'slow_drip'] as const) {
    if (fault) service.faults.add({ fault, delay: 0, times: 1 })
    const [attempt] = await service.trigger(CREATED)
    const answer = attempt?.answer as { status: number; headers: Record<string, string> }
    expect(() => {
      answer.status = 500
    }).toThrow(TypeError)
    expect(() => {
      answer.headers.added = 'x'
    }).toThrow(TypeError)
  }
  alter(service, { name: 'b' })
  expect((await service.trigger(CREATED))[0]?.answer?.status).toBe(200)
})

it('what has ended is not held by what was sent with it, and hangs', async () => {
  const silent = await receive(() => {})
  const quick = await receive()
  const { service } = createAt(
    [...named(silent.url, { a: { changeTypes: ['A'] } }), ...named(quick.url, { b: { changeTypes: ['B'] } })],
    { settings: { notificationAttempts: 1, notificationTimeOutInSeconds: 2 } },
  )
  const hanging = service.trigger({ ...CREATED, changeType: 'A' })
  const ended: WeakRef<object>[] = []
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (const attempt of await service.trigger({ ...CREATED, changeType: 'B' }))
        ended.push(new WeakRef(attempt))
    }),
  )
  await silent.arrived(1)
  service.reset()
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const left = (): number => ended.filter((attempt) => attempt.deref()).length
  for (let round = 0; round < 20 && left() > 0; round++) {
    await setImmediate()
    gc()
  }
  expect([ended.length, left()]).toEqual([20, 0])
  const closed = service.close()
  expect((await hanging)[0]?.error).toMatch(/^no answer within/)
  await closed
})
