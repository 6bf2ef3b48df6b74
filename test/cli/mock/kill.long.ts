import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createFolder, startProcess } from '../../helpers/cli.ts'
import type { Started } from '../../helpers/process.ts'

const folder = createFolder()
const WEBHOOKS = 24
/** Number of additional webhooks that never change. They make the state file large, so that writing it takes longer. */
const UNCHANGED = 1500
const ROUNDS = 3
/** Returns true if the webhook is deleted in this round. */
const isDeleted = (webhook: number, round: number): boolean => webhook % (ROUNDS + 1) === round

/** For each webhook, the last change that the mock acknowledged: the number of the edit, or `deleted`. */
type Acknowledged = Map<string, number | 'deleted'>

async function start(state: string, seed: string): Promise<{ mock: Started; url: string }> {
  const mock = startProcess(['mock', '--port', '0', '--state', state, '--seed', seed, '--quiet'])
  const [, url = ''] = await mock.printed(/(http:\/\/[\d.:]+)/)
  return { mock, url }
}

/** Edits and deletes webhooks concurrently until the mock is killed. */
async function changeUntilKilled(
  url: string,
  round: number,
  acknowledged: Acknowledged,
  onDone: () => void,
): Promise<void> {
  const base = `${url}/services/Parcels.FeatureServer/webhooks`
  const post = async (path: string, form: Record<string, string>): Promise<boolean> => {
    const answer = await fetch(`${base}/${path}`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, f: 'json' }),
    })
    const { status } = (await answer.json()) as { status: string }
    return status === 'success'
  }

  async function work(webhook: number): Promise<void> {
    const id = `w${webhook}`
    for (;;) {
      const last = acknowledged.get(id) ?? 0
      if (last === 'deleted') return
      const isEnd = isDeleted(webhook, round) && last % 3 === 2
      const next = last + 1
      const edit = { name: `${id} ${next}`, changeTypes: '*', hookUrl: `http://127.0.0.1:9/${next}` }
      const isDone = isEnd ? await post(`${id}/delete`, {}) : await post(`${id}/edit`, edit)
      if (!isDone) throw new Error(`${id} was refused`)
      acknowledged.set(id, isEnd ? 'deleted' : next)
      onDone()
    }
  }

  await Promise.allSettled(Array.from({ length: WEBHOOKS }, (_, webhook) => work(webhook)))
}

it('geohook mock loses no acknowledged change when it is killed with SIGKILL', async () => {
  const state = join(folder.path, 'state.json')
  const seed = folder.file(
    'seed.json',
    JSON.stringify({
      webhooks: Array.from({ length: WEBHOOKS + UNCHANGED }, (_, webhook) => ({
        serviceName: webhook < WEBHOOKS ? 'Parcels' : 'Roads',
        serviceType: 'FeatureServer',
        id: `w${webhook}`,
        name: `w${webhook} 0`,
        hookUrl: 'http://127.0.0.1:9/0',
        signatureKey: 'parcels2026',
      })),
    }),
  )
  const acknowledged: Acknowledged = new Map()
  for (let round = 0; round < ROUNDS; round++) {
    const { mock, url } = await start(state, seed)
    let done = 0
    await changeUntilKilled(url, round, acknowledged, () => {
      if (++done === 100 + 7 * round) mock.child.kill('SIGKILL')
    })
    expect(await mock.exited).toBe(null)

    const again = await start(state, seed)
    const answer = await fetch(`${again.url}/services/Parcels.FeatureServer/webhooks?f=json`)
    const { webhooks } = (await answer.json()) as {
      webhooks: { id: string; name: string; hookUrl: string }[]
    }
    await again.mock.stop('SIGKILL')
    const found = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
    for (const [id, last] of acknowledged) {
      const webhook = found.get(id)
      if (last === 'deleted') expect(webhook).toBeUndefined()
      else if (webhook) {
        const number = Number(webhook.name.split(' ')[1])
        // The mock may have saved one more edit that it did not acknowledge.
        expect([last, last + 1]).toContain(number)
        expect(webhook.hookUrl).toBe(`http://127.0.0.1:9/${number}`)
        acknowledged.set(id, number)
      } else {
        // The mock saved a deletion that it did not acknowledge.
        expect(isDeleted(Number(id.slice(1)), round) && last % 3 === 2).toBe(true)
        acknowledged.set(id, 'deleted')
      }
    }
  }
  expect([...acknowledged.values()]).toContain('deleted')
})

it('geohook mock ignores the incomplete temporary file of a killed process', async () => {
  const state = join(folder.path, 'other.json')
  writeFileSync(`${state}-geohook-part`, '{"webhooks":[{"half')
  const seed = folder.file(
    'empty.json',
    '{"services":[{"serviceName":"Parcels","serviceType":"FeatureServer"}]}',
  )
  const { mock } = await start(state, seed)
  await mock.stop()
  expect(JSON.parse(readFileSync(state, 'utf8'))).toMatchObject({ webhooks: [] })
})
