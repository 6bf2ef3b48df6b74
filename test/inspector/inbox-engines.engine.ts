import type { Delivery } from 'geohook'
import { createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { InboxEngineKind } from '../contract/inbox/engine.ts'
import { describePostgres } from '../contract/inbox/postgres.ts'
import { fill, handleAll, leaveAll, ONE_ATTEMPT, payloads } from '../helpers/dead-letters.ts'
import { createFolder } from '../helpers/folder.ts'
import { factIn, idsIn, noticeIn, openPage } from './helpers/inbox-page.ts'

type Kind = Pick<InboxEngineKind, 'name' | 'create'>

/** An inbox with deliveries in four states. */
async function openFilled(kind: Kind) {
  const engine = await kind.create()
  const inbox: DurableInbox = engine.open(ONE_ATTEMPT)
  onTestFinished(async () => {
    await inbox.close()
    await engine.remove()
  })
  const done = await fill(inbox, payloads(2))
  await handleAll(inbox)
  const headers = {
    authorization: 'Bearer geheim-1',
    cookie: 'id=geheim-2',
    secret: 'geheim-3',
    'x-note': 'seen',
  }
  const dead = await fill(inbox, payloads(2, 'FeaturesUpdated'), headers)
  await handleAll(inbox, 'the <map> is away\n  at line 2')
  const unhandled = await fill(inbox, payloads(2))
  await leaveAll(inbox)
  const bodies = payloads(1)
  const waiting = await fill(inbox, bodies)
  return { inbox, done, dead, unhandled, waiting, body: bodies[0] as string, page: await openPage(inbox) }
}

function describePage(kind: Kind, tags: string[] = []): void {
  describe(`the inspector of an inbox in ${kind.name}`, { tags }, () => {
    it('lists deliveries of all states, and filters them by state, id and error', async () => {
      const { done, dead, unhandled, waiting, page } = await openFilled(kind)
      const start = await page.get('/')
      expect(start.status).toBe(200)
      expect(idsIn(start).sort()).toEqual([...done, ...dead, ...unhandled, ...waiting].sort())
      expect(start.text).toContain('Error: the &lt;map&gt; is away')
      expect(start.text).toContain('1 pending, 2 dead, 2 unhandled')
      for (const [outcome, ids] of Object.entries({ waiting, active: [], done, dead, unhandled }))
        expect(idsIn(await page.get(`/?outcome=${outcome}`)).sort()).toEqual([...ids].sort())
      expect(idsIn(await page.get('/?outcome=other'))).toEqual([])
      expect(idsIn(await page.get(`/?text=${done[0]}`))).toEqual([done[0]])
      expect(idsIn(await page.get('/?text=is+away')).sort()).toEqual([...dead].sort())
      expect(idsIn(await page.get('/?type=FeaturesUpdated')).sort()).toEqual([...dead].sort())
    })

    it('shows the tenant of a delivery', async () => {
      const { inbox, done, page } = await openFilled(kind)
      const delivery = (await inbox.get(done[0] ?? ''))?.delivery as Delivery
      const id = 'ab'.repeat(16)
      await inbox.put({ ...delivery, id, tenant: 'a <b>', changeTypes: [] })
      expect(factIn(await page.get(`/deliveries/${id}`), 'Tenant')).toBe('a &lt;b&gt;')
      expect(factIn(await page.get(`/deliveries/${done[0]}`), 'Tenant')).toBeUndefined()
    })

    it('shows the exact request of a delivery without credentials, and its last error', async () => {
      const { dead, waiting, page, body } = await openFilled(kind)
      const overview = await page.get(`/deliveries/${dead[0]}`)
      expect(overview.text).toContain('Error: the &lt;map&gt; is away\n  at line 2')
      expect(factIn(overview, 'Request')).toBe('POST (the address is not stored)')
      expect(factIn(overview, 'State')).toBe('dead')
      expect(factIn(overview, 'Ended')).toMatch(/^\d{4}-.*Z, \d+ \w+ ago$/)
      expect(factIn(overview, 'Service')).toBe('Parcels')
      const headers = await page.get(`/deliveries/${dead[0]}/headers`)
      expect(headers.text).toContain('seen')
      expect(headers.text.match(/<code>\*\*\*<\/code>/g)).toHaveLength(3)
      for (const { text } of [overview, headers, await page.get(`/deliveries/${dead[0]}/curl`)])
        expect(text).not.toContain('geheim')
      expect((await page.get(`/deliveries/${dead[0]}/attempts`)).text).toContain('Attempt 1')
      const signature = await page.get(`/deliveries/${waiting[0]}/signature`)
      expect(signature.text).toContain('verified with key 1 (newest); it was sent in hex')
      expect((await page.get(`/deliveries/${waiting[0]}/download`)).text).toBe(body)
    })

    it('retries a dead letter, and discards one after a question', async () => {
      const { inbox, dead, page } = await openFilled(kind)
      const [first = '', second = ''] = dead
      const retried = await page.post(`/deliveries/${first}/retry`)
      expect(noticeIn(retried)).toBe('The delivery waits again, with its full number of attempts.')
      expect((await inbox.get(first))?.state).toBe('waiting')
      expect((await page.get(`/deliveries/${second}/discard`)).text).toContain('Discard this dead letter?')
      expect(await inbox.get(second)).toBeDefined()
      const discarded = await page.post(`/deliveries/${second}/discard`)
      expect(noticeIn(discarded)).toBe(`The delivery ${second} is discarded.`)
      expect(await inbox.get(second)).toBeUndefined()
      expect((await page.get(`/deliveries/${second}`)).status).toBe(404)
    })

    it('shows an unhandled delivery, retries it, and discards one after a question', async () => {
      const { inbox, unhandled, page } = await openFilled(kind)
      const [first = '', second = ''] = unhandled
      const overview = await page.get(`/deliveries/${first}`)
      expect(overview.text).toContain('<span class="outcome bad">unhandled</span>')
      expect(factIn(overview, 'Ended')).toMatch(/ ago$/)
      expect(noticeIn(await page.post(`/deliveries/${first}/retry`))).toBe('The delivery is due now.')
      expect((await inbox.get(first))?.state).toBe('waiting')
      const question = await page.get(`/deliveries/${second}/discard`)
      expect(question.text).toContain('Discard this unhandled delivery?')
      expect(noticeIn(await page.post(`/deliveries/${second}/discard`))).toMatch(/is discarded\.$/)
      expect(await inbox.get(second)).toBeUndefined()
    })

    it('says that an action is too late if another process has handled the delivery meanwhile', async () => {
      const { inbox, waiting, done, page } = await openFilled(kind)
      await inbox.purge({ state: 'unhandled' })
      await handleAll(inbox)
      for (const action of ['retry', 'discard']) {
        const tooLate = await page.post(`/deliveries/${waiting[0]}/${action}`)
        expect(noticeIn(tooLate)).toMatch(/ is not possible now: the delivery is done\.$/)
        expect(tooLate.text).toContain('class="notice bad"')
      }
      expect((await page.get(`/deliveries/${done[0]}`)).text).not.toContain('>Retry<')
      expect((await inbox.stats()).done).toBe(3)
    })

    it('counts the deliveries and the errors of dead letters in a panel', async () => {
      const { page } = await openFilled(kind)
      const panel = await page.get('/inbox')
      expect(factIn(panel, 'Waiting')).toBe('1')
      expect(factIn(panel, 'Done')).toBe('2')
      expect(factIn(panel, 'Dead letters')).toBe('2')
      expect(panel.text).toContain('<dt>Unhandled</dt><dd><span class="outcome bad">2</span></dd>')
      expect(factIn(panel, 'Pending')).toMatch(/^1 of at most [\d,]+: 0 % full$/)
      expect(factIn(panel, 'Oldest waiting')).toMatch(/^received \d+ \w+ ago$/)
      expect(panel.text).toMatch(
        /<code>Error: the &lt;map&gt; is away at line 2<\/code><\/a><\/th><td><a [^>]*>2<\/a><\/td>/,
      )
    })

    it('groups dead letters by their error, and lists, retries or discards those of one error', async () => {
      const { inbox, dead, page } = await openFilled(kind)
      await handleAll(inbox, 'order 12345 is unknown') // those that were waiting or unhandled
      const panel = await page.get('/inbox')
      const [order = '', map = ''] = [...panel.text.matchAll(/href="([^"]+)#list">[23]</g)].map(
        ([, link]) => link,
      )
      expect(panel.text.indexOf('Errors of dead letters')).toBeLessThan(panel.text.indexOf('<dt>Waiting'))
      const listed = await page.get(map.replaceAll('&amp;', '&'))
      expect(idsIn(listed).sort()).toEqual([...dead].sort())
      expect(listed.text).toContain('selected>Error: the &lt;map&gt; is away at line 2</option>')
      const entry = new URLSearchParams(order.slice(2)).get('error') ?? ''
      expect(entry).toBe('Error: order * is unknown')

      const question = await page.get(`/inbox/retry-error?${new URLSearchParams({ entry })}`)
      expect(question.text).toContain(`Retry 3 dead letters with “${entry}”, each with its full number`)
      for (const action of ['retry-error', 'discard-error']) {
        expect((await page.post(`/inbox/${action}`, { entry, 'form-secret': 'x' })).status).toBe(403)
        expect((await page.post(`/inbox/${action}`, { entry: '' })).status).toBeGreaterThan(399)
      }
      expect(await inbox.stats()).toMatchObject({ dead: 5 })
      const retried = await page.post('/inbox/retry-error', { entry })
      expect(noticeIn(retried)).toBe('Retried 3 dead letters.')
      expect(retried.text).not.toContain(entry)
      const discarded = await page.post('/inbox/discard-error', { entry: 'Error: the <map>' })
      expect(noticeIn(discarded)).toBe('Discarded 2 dead letters.')
      expect(discarded.text).not.toContain('Errors of')
      expect(await inbox.stats()).toMatchObject({ waiting: 3, dead: 0, done: 2 })
    })

    it('reruns a done delivery after a question', async () => {
      const { inbox, done, dead, page } = await openFilled(kind)
      const path = `/deliveries/${done[0]}`
      expect((await page.get(`/deliveries/${dead[0]}`)).text).not.toContain('>Rerun<')
      expect((await page.get(`${path}/rerun`)).text).toContain('Run the handlers of this delivery again')
      expect(noticeIn(await page.post(`${path}/rerun`))).toMatch(/^The delivery waits again/)
      expect((await inbox.get(done[0] ?? ''))?.state).toBe('waiting')
    })

    it('offers neither with an inbox of an older version', async () => {
      const { inbox, done } = await openFilled(kind)
      const older: Partial<DurableInbox> = { ...inbox }
      delete older.errors
      delete older.rerun
      const page = await openPage(older as DurableInbox)
      expect((await page.get('/inbox')).text).not.toContain('Errors of')
      expect((await page.get('/inbox/retry-error?entry=a')).status).toBe(404)
      expect((await page.get(`/deliveries/${done[0]}`)).text).not.toContain('>Rerun<')
    })

    it('shows that the inbox is paused, pauses it after a question, and resumes it', async () => {
      const { inbox, page } = await openFilled(kind)
      expect(factIn(await page.get('/inbox'), 'Workers')).toMatch(/^take deliveries +Pause workers\s*$/)
      expect((await page.get('/inbox/pause')).text).toContain('Keep the workers of all processes from')
      expect(await inbox.stats()).toMatchObject({ paused: false })
      const paused = await page.post('/inbox/pause')
      expect(noticeIn(paused)).toBe('The inbox is paused.')
      expect(paused.text).toContain('1 pending, 2 dead, 2 unhandled, workers paused')
      expect(await inbox.stats()).toMatchObject({ paused: true })
      expect(factIn(paused, 'Workers')).toMatch(/^paused\s+Resume workers\s*$/)
      await inbox.setConcurrency(5)
      const resumed = await page.post('/inbox/resume')
      expect(noticeIn(resumed)).toBe('The workers take deliveries again.')
      expect(factIn(resumed, 'Concurrency')).toBe('5')
      expect(await inbox.stats()).toMatchObject({ paused: false })
    })

    it('retries or discards all deliveries of a state, and removes done ones, after it has asked', async () => {
      const { inbox, page } = await openFilled(kind)
      expect((await page.get('/inbox/retry-unhandled')).text).toContain('Retry 2 unhandled deliveries?')
      expect(noticeIn(await page.post('/inbox/retry-unhandled'))).toBe('Retried 2 unhandled deliveries.')
      expect(await inbox.stats()).toMatchObject({ waiting: 3, dead: 2, unhandled: 0, done: 2 })
      await leaveAll(inbox)
      const question = await page.get('/inbox/discard-unhandled')
      expect(question.text).toContain('Discard 3 unhandled deliveries?')
      const discarded = await page.post('/inbox/discard-unhandled')
      expect(noticeIn(discarded)).toBe('Discarded 3 unhandled deliveries.')
      expect((await page.get('/inbox/retry-dead')).text).toContain('Retry 2 dead letters, each')
      expect(noticeIn(await page.post('/inbox/retry-dead'))).toBe('Retried 2 dead letters.')
      expect(await inbox.stats()).toMatchObject({ waiting: 2, dead: 0, unhandled: 0, done: 2 })
      await handleAll(inbox, 'still away')
      expect((await page.get('/inbox/discard-dead')).text).toContain('Discard 2 dead letters?')
      expect(noticeIn(await page.post('/inbox/discard-dead'))).toBe('Discarded 2 dead letters.')
      expect((await page.get('/inbox/purge-done')).text).toContain('Remove 2 done deliveries?')
      expect(noticeIn(await page.post('/inbox/purge-done'))).toBe('Removed 2 done deliveries.')
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 0, dead: 0, unhandled: 0 })
      expect(noticeIn(await page.post('/inbox/retry-dead'))).toBe('Retried 0 dead letters.')
    })
  })
}

describePage({
  name: 'memory',
  create: async () => ({ open: (options) => createMemoryInbox(options), remove: async () => {} }),
})

const sqlite: Kind = {
  name: 'SQLite',
  async create() {
    const { fileIn, remove } = createFolder()
    const path = fileIn('inbox.db')
    return { open: (options) => createSqliteInbox({ path, ...options }), remove }
  },
}
describePage(sqlite, ['sqlite'])

await describePostgres((kind) => describePage(kind))
