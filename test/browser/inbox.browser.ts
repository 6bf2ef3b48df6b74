import { createReceiver } from 'geohook'
import { createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startGeohook } from '../helpers/cli.ts'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../helpers/dead-letters.ts'
import { KEY } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { createGate } from '../helpers/gate.ts'
import { expectNoSecrets } from './helpers/secrets.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { MODES, type Mode, untilLive, visit } from './helpers/visit.ts'

const quiet = { failed() {} }

/** Stores a delivery that is done, and as many dead letters as given. */
async function addEnded(inbox: DurableInbox, dead: number): Promise<string[]> {
  await fill(inbox, payloads(1))
  await handleAll(inbox)
  const ids = await fill(inbox, payloads(dead))
  await handleAll(inbox, 'the map is away')
  return ids
}

async function open({ javaScriptEnabled }: Mode, url: string) {
  const page = await visit(url, { javaScriptEnabled })
  if (javaScriptEnabled) await untilLive(page)
  const pane = page.locator('#pane')
  return {
    page,
    row: (id: string) => page.locator(`#rows > [data-id="${id}"]`),
    press: (role: 'link' | 'button', name: string) => pane.getByRole(role, { name, exact: true }).click(),
    notice: (text: string) => pane.locator('.notice', { hasText: text }).waitFor(),
    fact: (name: string) => pane.locator('.facts > div', { hasText: name }).locator('dd').first(),
    /** Shows the current state: live, or by loading the page again. */
    refresh: async () => void (javaScriptEnabled || (await page.reload())),
  }
}

describe.each(MODES)('an inbox, $mode', (mode) => {
  it('shows deliveries in each state, and their changes', async () => {
    const inbox = createMemoryInbox(ONE_ATTEMPT)
    const [dead = ''] = await addEnded(inbox, 1)
    const { gate, release } = createGate()
    const receiver = createReceiver({ signatureKey: KEY, observer: quiet }).on('*', () => gate)
    const { url } = await serveInspector(inbox)
    const { page, row, fact, refresh } = await open(mode, url)
    await row(dead).getByText('dead').waitFor()
    const [id = ''] = await fill(inbox, payloads(1))
    await refresh()
    await row(id).getByText('waiting').waitFor()
    const workers = inbox.work(receiver, { concurrency: 1 })
    onTestFinished(() => {
      release()
      return workers.close()
    })
    await expect.poll(async () => (await inbox.get(id))?.state, { timeout: 60_000 }).toBe('active')
    await refresh()
    await row(id).getByText('active').waitFor()
    await page.locator('#panels').getByRole('link', { name: 'Inbox' }).click()
    await page.locator('#panel').getByText('the map is away').waitFor()
    expect(await fact('Active').textContent()).toBe('1')
    release()
    await expect.poll(async () => (await inbox.get(id))?.state, { timeout: 60_000 }).toBe('done')
    await refresh()
    await row(id).getByText('done').waitFor()
    await page.locator('#panels').getByText('0 pending, 1 dead').waitFor()
    await expect.poll(() => fact('Done').textContent(), { timeout: 10_000 }).toBe('2')
    await row(dead).click()
    const why = page.getByRole('region', { name: 'Why' })
    await why.getByText('the map is away').waitFor()
    await expectNoSecrets(url, [KEY])
  })

  it('retries and discards dead letters, one or all of them, and asks before it discards', async () => {
    const inbox = createMemoryInbox(ONE_ATTEMPT)
    const [first = '', second = ''] = await addEnded(inbox, 4)
    const { url } = await serveInspector(inbox)
    const { page, row, press, notice } = await open(mode, url)
    await row(first).click()
    await press('button', 'Retry')
    await notice('The delivery waits again')
    expect(await inbox.get(first)).toMatchObject({ state: 'waiting', attempts: 0 })
    await row(second).click()
    await press('link', 'Discard')
    await page.getByText('Discard this dead letter?').waitFor()
    expect(await inbox.get(second)).toBeDefined()
    await press('button', 'Discard')
    await notice('is discarded')
    expect(await inbox.get(second)).toBeUndefined()

    await page.locator('#panels').getByRole('link', { name: 'Inbox' }).click()
    await press('link', 'Retry dead letters')
    await page.getByText('Retry 2 dead letters').waitFor()
    await press('button', 'Retry dead letters')
    await notice('Retried 2 dead letters')
    expect(await inbox.stats()).toMatchObject({ waiting: 3, dead: 0 })
    await handleAll(inbox, 'away again')
    await page.reload()
    await press('link', '3')
    await page.getByRole('combobox', { name: 'Error' }).waitFor()
    expect(await page.locator('#rows > li').count()).toBe(3)
    await page.locator('#panels').getByRole('link', { name: 'Inbox' }).click()
    await press('link', 'Retry these')
    await page.getByText('Retry 3 dead letters with “Error: away again”').waitFor()
    await press('button', 'Retry these')
    await notice('Retried 3 dead letters')
    await handleAll(inbox, 'away again')
    await press('link', 'Discard all dead letters')
    await page.getByText('Discard 3 dead letters?').waitFor()
    await press('link', 'Cancel')
    await press('link', 'Discard all dead letters')
    await press('button', 'Discard all dead letters')
    await notice('Discarded 3 dead letters.')
    expect(await inbox.stats()).toMatchObject({ waiting: 0, dead: 0, done: 1 })
  })
})

it('geohook inbox ui shows and retries deliveries that another process handles', {
  tags: ['sqlite'],
}, async () => {
  const folder = createFolder()
  onTestFinished(() => folder.remove())
  const path = folder.fileIn('inbox.db')
  const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
  onTestFinished(() => inbox.close())
  const [dead = ''] = await addEnded(inbox, 1)
  const ui = startGeohook(['inbox', 'ui', '--port', '0', '--store', path])
  onTestFinished(async () => void (await ui.stop()))
  const [, url = ''] = await ui.printed(/(http:\/\/[\d.]+:\d+)\//)
  const { row, press, notice } = await open(MODES[0], url)
  await row(dead).click()
  await press('button', 'Retry')
  await notice('The delivery waits again')
  await row(dead).getByText('waiting').waitFor()
  await handleAll(inbox)
  await row(dead).getByText('done').waitFor()
  await expectNoSecrets(url, [KEY])
})
