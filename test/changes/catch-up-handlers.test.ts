import { createReceiver } from 'geohook'
import { createChanges } from 'geohook/changes'
import { createMemoryInbox, type InboxOptions } from 'geohook/inbox'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { warningsOf } from '../helpers/warnings.ts'
import { startParcels } from '../mock/features/extract/support.ts'

/** A mock with an edit that no delivery announces, and workers with handlers for some change types. */
async function start(changeTypes: string[], options?: InboxOptions) {
  const { url, add, generation } = await startParcels()
  const inbox = createMemoryInbox(options)
  onTestFinished(() => inbox.close())
  await inbox.generations.raise(url, new Map([[0, await generation()]]))
  await add('oak')
  const changes = createChanges({
    origins: [new URL(url).origin],
    inbox,
    pollInterval: { min: 1, max: 10 },
  })
  const receiver = createReceiver({ signatureKey: KEY, inbox })
  const errors: unknown[] = []
  const names: unknown[] = []
  const extract = () =>
    receiver.on('FeaturesEdited', async (event, _, context) => {
      const { layers } = await changes.of(event, context)
      names.push(...layers.flatMap(({ adds }) => adds.map(({ attributes }) => attributes.name)))
    })
  for (const changeType of changeTypes) receiver.on(changeType, () => {})
  inbox.work(receiver)
  const catchUp = () => {
    const running = changes.catchUp({ services: [url], onError: (error) => errors.push(error) })
    onTestFinished(() => running.close())
    return running
  }
  const idle = () => until(async () => (await inbox.stats()).done > 0)
  return { url, inbox, add, catchUp, extract, errors, names, idle, generation }
}

const UNHANDLED =
  /^change_type_unhandled: catchUp .*FeaturesEdited.*receiver\.on\('FeaturesEdited', handler\)/

describe('catchUp without a handler for its event', () => {
  it('keeps one unhandled delivery, which a handler that is registered later extracts', async () => {
    const { inbox, add, catchUp, extract, errors, names, idle } = await start(['FeaturesCreated'])
    const running = catchUp()
    await running.poll()
    await until(async () => (await inbox.stats()).unhandled === 1)
    await add('elm')
    await running.poll()
    await running.poll()
    expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, unhandled: 1 })
    extract()
    await idle()
    await running.poll()
    await running.poll()
    await until(() => names.length === 2)
    expect(names).toEqual(['oak', 'elm'])
    expect(errors).toEqual([])
  })

  it("warns at the start, and reports each poll whose edits are done but not handled, with unhandled: 'done'", async () => {
    const changeTypes = ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted']
    const { url, catchUp, errors, idle } = await start(changeTypes, { unhandled: 'done' })
    const warnings = await warningsOf(async () => {
      const running = catchUp()
      await running.poll()
      await idle()
      await running.poll()
    })
    expect(warnings.filter((line) => UNHANDLED.test(line))).toHaveLength(1)
    expect(errors).toContainEqual(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringMatching(`${url} up to generation \\d+ were not handled.*FeaturesEdited`),
        hint: expect.stringContaining('inbox.purge'),
      }),
    )
  })

  it('announces the edits again after the fix that the hint describes', async () => {
    const { inbox, url, catchUp, extract, errors, names, idle, generation } = await start(
      ['FeaturesCreated'],
      { unhandled: 'done' },
    )
    const running = catchUp()
    await running.poll()
    await idle()
    extract()
    await inbox.purge({ state: 'done' })
    errors.length = 0
    await running.poll()
    await until(async () => (await inbox.generations.get(url)).get(0) === (await generation()))
    await running.poll()
    expect(names).toEqual(['oak'])
    expect(errors).toEqual([])
  })

  it('reports edits that a handler did not extract', async () => {
    const { catchUp, errors, idle } = await start(['*'])
    const warnings = await warningsOf(async () => {
      const running = catchUp()
      await running.poll()
      await idle()
      await running.poll()
    })
    expect(warnings).toEqual([])
    expect(errors.at(-1)).toMatchObject({ code: 'config_invalid' })
  })

  it.each([['FeaturesEdited'], ['*', 'FeaturesCreated']])(
    'does not warn with a handler of %s',
    async (...types) => {
      const { catchUp } = await start(types)
      expect(await warningsOf(() => catchUp().poll())).toEqual([])
    },
  )
})
