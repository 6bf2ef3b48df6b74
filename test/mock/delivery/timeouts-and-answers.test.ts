import { expect, it } from 'vitest'
import { alter, CREATED, createAt, named, receive } from './support.ts'

it('concurrent attempts have their own timeouts', async () => {
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
  expect(await Promise.race([first, third])).toBe('no response within 1 s')
  expect(await third).toBe('no response within 2 s')
})

it('every attempt ends, even without a response', async () => {
  const { url } = await receive(() => {})
  const { service } = createAt(named(url, { a: {} }), {
    settings: { notificationAttempts: 1, notificationTimeOutInSeconds: 1 },
    concurrency: 20,
  })
  const works = Array.from({ length: 20 }, () => service.trigger(CREATED))
  const errors = (await Promise.all(works)).map(([attempt]) => attempt?.error)
  expect(errors).toEqual(Array(20).fill('no response within 1 s'))
})

it('records each response unchanged', async () => {
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

it('a recorded response is immutable', async () => {
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
