// @module-tag sqlite
import { createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fill, handleNamed, ONE_ATTEMPT, payloads } from '../helpers/dead-letters.ts'
import { createFolder } from '../helpers/folder.ts'
import { factIn, idsIn, noticeIn, openPage } from './helpers/inbox-page.ts'

const FAILED = { erp: 'the ERP is away\n  at line 2', mail: undefined, 'map-2.1': 'the map is away' }

/** An inbox with deliveries; for each, two of three handlers have failed. */
async function openFailed(count = 1) {
  const { fileIn } = createFolder()
  const inbox = createSqliteInbox({ path: fileIn('inbox.db'), ...ONE_ATTEMPT })
  onTestFinished(() => inbox.close())
  const ids = await fill(inbox, payloads(count))
  await handleNamed(inbox, FAILED)
  return { inbox, ids, id: ids[0] as string, page: await openPage(inbox) }
}

const statesOf = async (inbox: DurableInbox, id: string): Promise<string[]> =>
  ((await inbox.get(id))?.fates ?? []).map(({ handler, state }) => `${handler} ${state}`)

it('lists the handlers of a delivery as rows of their own', async () => {
  const { id, page } = await openFailed()
  const rows = [`${id} mail`, `${id} map-2.1`, `${id} erp`]
  const start = await page.get('/')
  expect(idsIn(start)).toEqual(rows)
  expect(start.text.match(new RegExp(`href="/deliveries/${id}"`, 'g'))).toHaveLength(3)
  expect(start.text).toContain('<span class="place">erp: Error: the ERP is away</span>')
  expect(start.text).toContain('<span class="place">mail</span>')
  expect(idsIn(await page.get(`/?text=${id}`)).sort()).toEqual([...rows].sort())
  expect(idsIn(await page.get('/?text=ERP:'))).toEqual([`${id} erp`])
  expect(idsIn(await page.get('/?outcome=done'))).toEqual([`${id} mail`])
})

it('shows the state, attempts and errors of each handler', async () => {
  const { inbox, id, page } = await openFailed()
  const overview = await page.get(`/deliveries/${id}`)
  expect(factIn(overview, 'State')).toBeUndefined()
  const ended = 'Attempts: 1; Ended: \\S+, \\d+ \\w+ ago'
  for (const [handler, text] of [
    ['erp', `dead ${ended}; Last error: Error: the ERP is away`],
    ['mail', `done ${ended}`],
    ['map-2.1', `dead ${ended}; Last error: Error: the map is away`],
  ] as const)
    expect(factIn(overview, handler)).toMatch(new RegExp(`^${text}$`))
  const { text } = await page.get(`/deliveries/${id}/attempts`)
  expect([...text.matchAll(/<h3>Attempt 1 <span[^>]*>([^<]*)/g)].map(([, result]) => result)).toEqual([
    'erp: failed',
    'mail: handled',
    'map-2.1: failed',
  ])
  expect(text).toContain('Error: the ERP is away\n  at line 2')
  await inbox.retry(id, 'erp')
  expect(factIn(await page.get(`/deliveries/${id}`), 'erp')).toMatch(/^waiting Attempts: 0; Next attempt: /)
})

it('retries and discards for all handlers that have failed, and names them', async () => {
  const { inbox, ids, page } = await openFailed(2)
  const [first = '', second = ''] = ids
  expect(noticeIn(await page.post(`/deliveries/${first}/retry`))).toBe(
    'The delivery waits again for erp, map-2.1, with its full number of attempts.',
  )
  expect(await statesOf(inbox, first)).toEqual(['erp waiting', 'mail done', 'map-2.1 waiting'])
  const question = await page.get(`/deliveries/${second}/discard`)
  expect(question.text).toContain('Discard this dead letter for erp, map-2.1? It cannot be restored.</p>')
  expect(noticeIn(await page.post(`/deliveries/${second}/discard`))).toBe(
    `The delivery ${second} is discarded for erp, map-2.1.`,
  )
  expect(await statesOf(inbox, second)).toEqual(['mail done'])
  const done = await page.get(`/deliveries/${second}`)
  expect(done.text).not.toMatch(/>Retry<|>Discard</)
  expect(noticeIn(await page.post(`/deliveries/${second}/retry`))).toContain('the delivery is done')
})

it('links to older rows, also if a page ends between the handlers of a delivery', async () => {
  const inbox = createMemoryInbox(ONE_ATTEMPT)
  await fill(inbox, payloads(335))
  await handleNamed(inbox, FAILED)
  const page = await openPage(inbox)
  const start = await page.get('/')
  const [, older = ''] = /<a href="([^"]+)">Older deliveries/.exec(start.text) ?? []
  expect(older).toMatch(/\+map-2\.1%2C/)
  const rest = await page.get(older.replaceAll('&amp;', '&'))
  expect(rest.status).toBe(200)
  const all = [...idsIn(start), ...idsIn(rest)]
  expect([all.length, new Set(all).size]).toEqual([1_005, 1_005])
})

it('streams the id of a delivery when a handler has another state', async () => {
  const { inbox, id } = await openFailed()
  let polls = 0
  const stats = () => {
    polls++
    return inbox.stats()
  }
  const { url } = await openPage({ ...inbox, stats })
  const stop = new AbortController()
  // Kept whole: Node cancels the body of a response that nothing refers to.
  const response = await fetch(`${url}/live`, { signal: stop.signal })
  await vi.waitUntil(() => polls > 1, { timeout: 60_000 }) // the first poll has ended
  await inbox.retry(id, 'erp')
  let text = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    if (text.includes('event: rows')) break
  }
  expect(text).toContain(`event: rows\ndata: ${JSON.stringify([id])}\n`)
  stop.abort()
})

it('shows an inbox whose deliveries have no fates, as those of older versions', async () => {
  const { inbox, page: _, ...rest } = await openFailed()
  const older = {
    ...inbox,
    async get(id: string) {
      const { fates: _, handler: __, ...item } = (await inbox.get(id)) ?? {}
      return item
    },
  } as unknown as DurableInbox
  const page = await openPage(older)
  const overview = await page.get(`/deliveries/${rest.id}`)
  expect(factIn(overview, 'State')).toBe('dead')
  expect(overview.text).not.toContain('<h3>Handlers')
  expect(idsIn(await page.get(`/?text=${rest.id}`))).toEqual([rest.id])
  expect(noticeIn(await page.post(`/deliveries/${rest.id}/retry`))).toBe(
    'The delivery waits again, with its full number of attempts.',
  )
})

it.each([
  ['Next attempt', { held: true }, 'held behind an earlier delivery of its service'],
  ['Order', { passed: true }, 'passed by later deliveries of its service'],
])('shows the place of a delivery in the order of its service: %s', async (name, place, text) => {
  const inbox = createMemoryInbox()
  const [id = ''] = await fill(inbox, payloads(1))
  const item = { ...(await inbox.get(id)), ...place, fates: undefined }
  const page = await openPage({ ...inbox, get: async () => item } as unknown as DurableInbox)
  expect(factIn(await page.get(`/deliveries/${id}`), name)).toBe(text)
})
