import { describe, expect, it } from 'vitest'
import {
  FAULT_NAMES,
  JOB_CHANGE_TYPES,
  FEATURE_CHANGE_TYPES as LISTED_CHANGE_TYPES,
} from '../../../src/cli/service/trigger-choices.ts'
import { FAULTS } from '../../../src/mock/delivery/faults.ts'
import { FEATURE_CHANGE_TYPES } from '../../../src/payload/change-types.ts'
import type { Mock } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, type Target } from '../../helpers/target.ts'

const { geohook, withMock } = useGeohook()

const PARCELS = 'Parcels.FeatureServer'
const HAPPENS = ['trigger', PARCELS, 'FeaturesCreated']

async function withWebhook(use: (mock: Mock, target: Target) => Promise<void>): Promise<void> {
  const target = await startTarget()
  try {
    await withMock([], async (mock) => {
      const args = [
        '--name',
        'n',
        '--hook-url',
        target.url,
        '--change-types',
        'FeaturesCreated',
        '--key',
        KEY,
      ]
      expect((await mock.geohook('create', PARCELS, ...args)).code).toBe(0)
      await use(mock, target)
    })
  } finally {
    await target.close()
  }
}

async function faultsOf({ url }: Mock): Promise<unknown> {
  return ((await (await fetch(`${url}/_mock/faults`)).json()) as { faults: unknown }).faults
}

describe.concurrent('geohook trigger --fault', () => {
  it('is for the next delivery only', () =>
    withWebhook(async ({ geohook }, { requests }) => {
      await geohook(...HAPPENS, '--fault', 'altered')
      expect((await geohook(...HAPPENS)).code).toBe(0)
      const areSigned = requests.map(({ headers, body }) => headers['x-service'] === signatureOf(body))
      expect(areSigned).toEqual([false, true])
    }))

  it('gives the delay on', () =>
    withWebhook(async ({ geohook }, { requests }) => {
      const started = performance.now()
      expect((await geohook(...HAPPENS, '--fault', 'delayed', '--delay', '700')).code).toBe(0)
      expect(performance.now() - started).toBeGreaterThan(700)
      expect(requests.length).toBe(1)
    }))

  it('leaves no fault behind where nothing was sent, or the service said no', () =>
    withWebhook(async (mock) => {
      const nothing = await mock.geohook('trigger', PARCELS, 'FeaturesDeleted', '--fault', 'unsigned')
      expect(nothing).toMatchObject({
        code: 0,
        stdout: 'no webhook is subscribed to this event\n',
        stderr: '',
      })
      const wrong = await mock.geohook('trigger', 'Nothing.GPServer', 'x', '--fault', 'unsigned')
      expect(wrong).toMatchObject({ code: 1, stdout: '' })
      expect(await faultsOf(mock)).toEqual([])
    }))

  it.each([
    ['an unknown one', ['--fault', 'nonsense'], '--fault <name>: Allowed choices are wrong_key,'],
    ['a delay alone', ['--delay', '5'], '--delay requires --fault'],
    ['a delay that is none', ['--fault', 'delayed', '--delay', '-1'], '--delay <ms>: give a whole number'],
  ])('refuses %s', async (_, args, message) => {
    const ran = await geohook([...HAPPENS, ...args])
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})

it('trigger --help lists the faults, the change types and the ends of a job, all of them', async () => {
  expect(FAULT_NAMES).toEqual(Object.keys(FAULTS))
  expect(LISTED_CHANGE_TYPES).toEqual(FEATURE_CHANGE_TYPES)
  const { stdout } = await geohook(['trigger', '--help'])
  for (const name of [...FAULT_NAMES, ...LISTED_CHANGE_TYPES, ...JOB_CHANGE_TYPES])
    expect(stdout).toContain(name)
})

it('mock --help shows the way to a first webhook, and a seed that can be read', async () => {
  const { stdout } = await geohook(['mock', '--help'])
  expect(stdout).toMatch(/\$ geohook create Parcels\.FeatureServer --name edits --hook-url /)
  expect(stdout).toMatch(/\$ geohook trigger Parcels\.FeatureServer FeaturesCreated/)
  const [, seed = ''] = /A seed:\n(.*?)\n\n/s.exec(stdout) ?? []
  expect(JSON.parse(seed)).toMatchObject({ webhooks: [{ name: expect.any(String) }] })
})
