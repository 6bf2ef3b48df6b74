import { createServer } from 'node:http'
import { createReceiver, type Delivery } from 'geohook'
import { createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { createInspector } from 'geohook/inspector'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../helpers/dead-letters.ts'
import { deliver, KEY } from '../helpers/deliver.ts'
import { factIn, idsIn, noticeIn, openPage } from './helpers/inbox-page.ts'

/** Counts the calls of an inbox, and the entries that it lists. */
function counting(inbox: DurableInbox) {
  const calls = { stats: 0, list: 0, entries: 0 }
  const counted: DurableInbox = {
    ...inbox,
    stats() {
      calls.stats++
      return inbox.stats()
    },
    async list(options) {
      calls.list++
      const page = await inbox.list(options)
      calls.entries += page.entries.length
      return page
    },
  }
  const take = (): typeof calls => {
    const before = { ...calls }
    Object.assign(calls, { stats: 0, list: 0, entries: 0 })
    return before
  }
  return { inbox: counted, calls, take }
}

/** An inbox whose store can become unreachable. */
function interruptible(inbox: DurableInbox) {
  let isReachable = true
  const check = async (): Promise<void> => {
    if (isReachable) return
    const message = 'connect ECONNREFUSED 127.0.0.1:5432, postgres://geohook:geheimnis@127.0.0.1'
    throw Object.assign(new Error(message), { code: 'ECONNREFUSED' })
  }
  const interrupted: DurableInbox = {
    ...inbox,
    stats: () => check().then(() => inbox.stats()),
    list: (options) => check().then(() => inbox.list(options)),
    get: (id) => check().then(() => inbox.get(id)),
    retry: (async (target: string) => {
      await check()
      return inbox.retry(target)
    }) as DurableInbox['retry'],
    discard: (id) => check().then(() => inbox.discard(id)),
    purge: (options) => check().then(() => inbox.purge(options)),
  }
  return {
    inbox: interrupted,
    setReachable(reachable: boolean) {
      isReachable = reachable
    },
  }
}

/** Stores many deliveries without signing each of them. */
async function putMany(inbox: DurableInbox, count: number): Promise<void> {
  const accepted: Delivery[] = []
  const observer = { accepted: ({ delivery }: { delivery: Delivery }) => void accepted.push(delivery) }
  const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
  await deliver(receiver, payloads(1)[0] as string)
  for (let number = 0; number < count; number++) {
    const id = number.toString(16).padStart(32, '0')
    const receivedAt = new Date(1_700_000_000_000 + number * 1_000)
    await inbox.put({ ...(accepted[0] as Delivery), id, receivedAt })
  }
}

/** Reads server-sent events until the events so far satisfy a condition. */
async function openStream(url: string) {
  const stop = new AbortController()
  const { body } = await fetch(`${url}/live`, { signal: stop.signal })
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async until(pattern: RegExp): Promise<string> {
      while (!pattern.test(text)) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error(`the stream ended: ${text}`)
        text += value
      }
      const read = text
      text = ''
      return read
    },
    close: () => stop.abort(),
  }
}

it('reads at most one page of each state, however many deliveries an inbox has', async () => {
  const all = counting(createMemoryInbox({ maxPending: 20_000, ...ONE_ATTEMPT }))
  await putMany(all.inbox, 10_000)
  const page = await openPage(all.inbox)
  const start = await page.get('/')
  expect(idsIn(start)).toHaveLength(1_000)
  expect(idsIn(start)[0]).toBe((9_999).toString(16).padStart(32, '0'))
  expect(start.text).toContain('The newest of each state: 1,000 of 10,000 waiting.')
  expect(all.take()).toMatchObject({ list: 1, entries: 1_000 })

  const [, older = ''] = /<a href="([^"]+)">Older deliveries/.exec(start.text) ?? []
  const second = await page.get(older)
  expect(idsIn(second)).toHaveLength(1_000)
  expect(idsIn(second)[0]).toBe((8_999).toString(16).padStart(32, '0'))
  expect(second.text).toContain('Older ones of each state: 1,000 of 9,000 waiting.')
  expect(all.take()).toMatchObject({ list: 1, entries: 1_000 })

  await page.get('/?outcome=dead')
  expect(all.take()).toMatchObject({ list: 0 })
  const searched = await page.get('/?text=nowhere')
  expect(idsIn(searched)).toEqual([])
  expect(searched.text).toContain('Older deliveries')
  expect(searched.text).toContain('The filters were applied to 5,000 deliveries.')
  expect(all.take()).toMatchObject({ list: 5, entries: 5_000 })
  await page.get('/inbox')
  expect(all.take()).toMatchObject({ list: 1, entries: 1_000 })
  for (const after of [
    'nonsense',
    '9,9,9,9,9',
    '9.,9.,9.,9.',
    '9.,9.,9.,9.,9.x',
    '9.,9.,9.,9.,9. x',
    '9.,9.,9.,9.,9.,9.',
  ])
    expect((await page.get(`/?after=${after}`)).status).toBe(400)
  const { status, text } = await page.get('/?after=9.,999999999999.,0.,9.,9.')
  expect([status, text.includes('999')]).toEqual([200, false])
})

it('shows dead letters although thousands of other deliveries are newer', async () => {
  const inbox = createMemoryInbox({ maxPending: 20_000, ...ONE_ATTEMPT })
  const dead = await fill(inbox, payloads(2))
  await handleAll(inbox, 'away')
  await putMany(inbox, 3_000)
  const start = await (await openPage(inbox)).get('/')
  expect(idsIn(start)).toEqual(expect.arrayContaining(dead))
  expect(start.text).toContain('998 of 3,000 waiting, 2 of 2 dead.')
})

it('streams new and changed deliveries, and updates of the panel', async () => {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  const all = counting(inbox)
  const page = await openPage(all.inbox)
  const stream = await openStream(page.url)
  await vi.waitUntil(() => all.calls.stats > 0, { timeout: 60_000 })
  const [id = ''] = await fill(inbox, payloads(1))
  expect(await stream.until(/event: rows\ndata: .*\n\n/)).toContain(id)
  await handleAll(inbox, 'away')
  expect(await stream.until(/event: rows\ndata: .*\n\n/)).toContain(id)
  expect((await page.get('/')).text).toContain('<span class="outcome bad">dead</span>')
  await inbox.discard(id)
  expect(await stream.until(/event: rows\ndata: .*event: panels/s)).toContain(id)
  stream.close()
  const panel = await page.get('/inbox')
  expect(factIn(panel, 'Arriving')).toMatch(/^[1-9]/)
  expect(factIn(panel, 'Becoming dead')).toMatch(/^[1-9]/)
  expect(panel.text).not.toContain('style=')
})

it('does not poll an inbox without open pages, and stops when the last page is closed', async () => {
  const all = counting(createMemoryInbox(ONE_ATTEMPT))
  const page = await openPage(all.inbox)
  await page.get('/')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  all.take()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(all.take().stats).toBe(0)
  vi.useRealTimers()

  const first = await openStream(page.url)
  const second = await openStream(page.url)
  await vi.waitUntil(() => all.calls.stats >= 2, { timeout: 60_000 })
  first.close()
  const before = all.calls.stats
  await vi.waitUntil(() => all.calls.stats > before, { timeout: 60_000 })
  second.close()
  let last = -1
  // No call in three intervals. While the stream closes, one more poll can begin.
  await vi.waitUntil(
    () => {
      const isQuiet = all.calls.stats === last
      last = all.calls.stats
      return isQuiet
    },
    { timeout: 60_000, interval: 3_000 },
  )
})

it('starts the next poll only after the last one has ended', async () => {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  let concurrent = 0
  let most = 0
  let ended = 0
  const slow: DurableInbox = {
    ...inbox,
    async stats() {
      most = Math.max(most, ++concurrent)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      concurrent--
      ended++
      return inbox.stats()
    },
  }
  const page = await openPage(slow)
  const streams = await Promise.all([openStream(page.url), openStream(page.url)])
  await vi.waitUntil(() => ended === 2, { timeout: 60_000 })
  for (const stream of streams) stream.close()
  expect(most).toBe(1)
})

it('says that an action was too late if the state has changed between the check and the action', async () => {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  const [id = '', other = ''] = await fill(inbox, payloads(2))
  const page = await openPage({
    ...inbox,
    retry: (async (asked: string) => {
      await handleAll(inbox)
      return inbox.retry(asked)
    }) as DurableInbox['retry'],
    async discard(asked) {
      await inbox.discard(asked)
      return inbox.discard(asked)
    },
  })
  expect(noticeIn(await page.post(`/deliveries/${other}/discard`))).toBe(
    'The delivery was not discarded: it is no longer in the inbox.',
  )
  expect(noticeIn(await page.post(`/deliveries/${id}/retry`))).toBe(
    'The delivery was not retried: it is done.',
  )
})

it('says that an action is about more dead letters than are in the groups of errors', async () => {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  await fill(inbox, payloads(101))
  let number = 0
  inbox.work({ handle: () => Promise.reject(new Error(`the map ${number++} is away`)) })
  await vi.waitUntil(async () => (await inbox.stats()).dead === 101)
  const page = await openPage(inbox)
  const question = async () => (await page.get('/inbox/retry-error?entry=map')).text
  expect(await question()).toContain('<p>Retry at least 100 dead letters with “map”')
  expect(await inbox.purge({ state: 'dead', error: 'the map 100 is' })).toBe(1)
  expect(await question()).toContain('<p>Retry 100 dead letters with “map”')
})

it('refuses a form without its secret', async () => {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  const [id = ''] = await fill(inbox, payloads(1))
  const page = await openPage(inbox)
  expect((await page.post(`/deliveries/${id}/discard`, { 'form-secret': 'guess' })).status).toBe(403)
  expect((await page.post('/inbox/discard-dead', { 'form-secret': 'guess' })).status).toBe(403)
  expect(await inbox.get(id)).toBeDefined()
})

it('responds with 503 and the reason while the store is unreachable, and recovers', async () => {
  const { inbox, setReachable } = interruptible(createMemoryInbox())
  const page = await openPage(inbox)
  const [id = ''] = await fill(inbox, payloads(1))
  const stream = await openStream(page.url)
  expect(idsIn(await page.get('/'))).toEqual([id])
  const form = await page.get(`/deliveries/${id}/discard`)
  const [, secret = ''] = /name="form-secret" value="([^"]+)"/.exec(form.text) ?? []

  setReachable(false)
  await stream.until(/event: panels/)
  const answers = [
    await page.get('/'),
    await page.get('/inbox'),
    await page.get(`/deliveries/${id}`),
    await page.get('/inbox/retry-dead'),
    await page.post('/inbox/purge-done', { 'form-secret': secret }),
    await page.post(`/deliveries/${id}/retry`, { 'form-secret': secret }),
  ]
  for (const { status, text, headers } of answers) {
    expect(status).toBe(503)
    expect(text).toContain('The store of the inbox is unreachable: connection refused.')
    expect(headers['retry-after']).toBe('5')
    expect(text).not.toMatch(/geheimnis|postgres:|127\.0\.0\.1|\n\s+at /)
  }

  setReachable(true)
  await vi.waitUntil(async () => (await page.get('/')).status === 200, { timeout: 60_000 })
  expect(idsIn(await page.get('/'))).toEqual([id])
  const [next = ''] = await fill(inbox, payloads(1))
  await stream.until(new RegExp(`event: rows\\ndata: .*${next}`))
  stream.close()
})

it('refuses an object that is not an inbox', () => {
  expect(() => createServer(createInspector({ list() {} } as unknown as DurableInbox))).toThrow(
    'inspected must be a mock service, a request log or a durable inbox',
  )
})

it('shows an inbox without pause() and resume(), as those of older versions', async () => {
  const { pause: _, resume: __, setConcurrency: ___, ...older } = createMemoryInbox()
  const stats = async () => {
    const { paused: _, ...counts } = await older.stats()
    return counts
  }
  const page = await openPage({ ...older, stats } as unknown as DurableInbox)
  const panel = await page.get('/inbox')
  expect(factIn(panel, 'Waiting')).toBe('0')
  expect(panel.text).not.toMatch(/Workers|Pause workers/)
  expect((await page.get('/inbox/pause')).status).toBe(404)
})

it('tells open pages that the inbox was paused', async () => {
  const { inbox, calls } = counting(createMemoryInbox())
  const page = await openPage(inbox)
  const stream = await openStream(page.url)
  await vi.waitUntil(() => calls.stats > 1, { timeout: 60_000 }) // the first poll has ended
  await inbox.pause()
  await stream.until(/event: panels/)
  stream.close()
})
