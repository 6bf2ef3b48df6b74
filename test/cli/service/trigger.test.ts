import { describe, expect, it } from 'vitest'
import { FAULT_NAMES } from '../../../src/cli/service/trigger-choices.ts'
import { FAULTS } from '../../../src/mock/delivery/faults.ts'
import { FEATURE_CHANGE_TYPES, JOB_CHANGE_TYPES } from '../../../src/payload/change-types.ts'
import type { Mock } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, type Target } from '../../helpers/target.ts'

const { geohook, withMock } = useGeohook()

const PARCELS = 'Parcels.FeatureServer'
const TRIGGER = ['trigger', PARCELS, 'FeaturesCreated']

const withWebhook = (use: (mock: Mock, target: Target) => Promise<void>): Promise<void> =>
  withTarget(async (target) => {
    await withMock([], async (mock) => {
      const webhook = ['--name', 'n', '--hook-url', target.url, '--change-types', 'FeaturesCreated']
      expect((await mock.geohook('create', PARCELS, ...webhook, '--key', KEY)).code).toBe(0)
      await use(mock, target)
    })
  })

async function faultsOf({ url }: Mock): Promise<unknown> {
  return ((await (await fetch(`${url}/_mock/faults`)).json()) as { faults: unknown }).faults
}

describe.concurrent('geohook trigger --fault', () => {
  it('injects the fault into the next delivery only', () =>
    withWebhook(async ({ geohook }, { requests }) => {
      await geohook(...TRIGGER, '--fault', 'altered')
      expect((await geohook(...TRIGGER)).code).toBe(0)
      const areSigned = requests.map(({ headers, body }) => headers['x-service'] === signatureOf(body))
      expect(areSigned).toEqual([false, true])
    }))

  it('sends --delay to the service', async () => {
    const target = await startTarget((res, { url }) =>
      res.end(JSON.stringify(url === '/_mock/faults' ? { id: 'f1' } : { deliveries: [{}] })),
    )
    await geohook([...TRIGGER, '--fault', 'delayed', '--delay', '700', '--url', target.url])
    await target.close()
    const [fault, trigger, ...more] = target.requests
    expect(JSON.parse(`${fault?.body}`)).toEqual({ fault: 'delayed', delay: 700, times: 1 })
    expect(trigger?.url).toBe('/_mock/trigger')
    expect(more).toEqual([])
  })

  it('removes the fault if no delivery was sent or the service reported an error', () =>
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
    ['an unknown fault', ['--fault', 'nonsense'], '--fault <name>: Allowed choices are wrong_key,'],
    ['--delay alone', ['--delay', '5'], '--delay requires --fault'],
    ['a negative delay', ['--fault', 'delayed', '--delay', '-1'], '--delay <ms>: give a whole number'],
  ])('refuses %s', async (_, args, message) => {
    const result = await geohook([...TRIGGER, ...args])
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})

it('geohook trigger --help lists all faults and change types', async () => {
  expect(FAULT_NAMES).toEqual(Object.keys(FAULTS))
  const { stdout } = await geohook(['trigger', '--help'])
  for (const name of [...FAULT_NAMES, ...FEATURE_CHANGE_TYPES, ...JOB_CHANGE_TYPES])
    expect(stdout).toContain(name)
})
