import { describe, expect, it } from 'vitest'
import { FEATURE_CHANGE_TYPES, JOB_CHANGE_TYPES } from '../../../src/payload/events.ts'
import { ADMIN_FAULTS, DELIVERY_FAULTS, EXTRACTION_FAULTS } from '../../../src/shared/faults.ts'
import type { Mock } from '../../helpers/cli.ts'
import { geohook, withMock } from '../../helpers/cli.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, type Target } from '../../helpers/target.ts'

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
        code: 4,
        stdout: '',
        stderr: expect.stringContaining('error: no webhook is subscribed to this event\n'),
      })
      const wrong = await mock.geohook('trigger', 'Nothing.GPServer', 'esriJobFailed', '--fault', 'unsigned')
      expect(wrong).toMatchObject({ code: 1, stdout: '' })
      expect(await faultsOf(mock)).toEqual([])
    }))

  it.each([
    ['an unknown fault', ['--fault', 'nonsense'], '--fault <name>: Allowed choices are wrong_key,'],
    ['--delay alone', ['--delay', '5'], '--delay requires --fault'],
    ['a negative delay', ['--fault', 'delayed', '--delay', '-1'], '--delay <ms>: must be a whole number'],
  ])('refuses %s', async (_, args, message) => {
    const result = await geohook([...TRIGGER, ...args])
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})

describe.concurrent('geohook trigger, if nothing is sent,', () => {
  it('ends with 5 and names the webhook if it is inactive', () =>
    withWebhook(async ({ geohook }) => {
      expect((await geohook('edit', PARCELS, 'n', '--active', 'false')).code).toBe(0)
      const message =
        'error: all webhooks that are subscribed to this event are inactive: n\n' +
        '"geohook activate" activates a webhook.\n'
      expect(await geohook(...TRIGGER)).toMatchObject({ code: 5, stdout: '', stderr: message })
      expect(await geohook(...TRIGGER, '--no-wait')).toMatchObject({ code: 5, stderr: message })
      const json = await geohook(...TRIGGER, '--json')
      expect([json.code, JSON.parse(json.stderr).error.code]).toEqual([5, 'inactive'])
      const other = await geohook('trigger', PARCELS, 'FeaturesDeleted', '--json')
      expect([other.code, JSON.parse(other.stderr).error.code]).toEqual([4, 'not_subscribed'])
    }))

  it('takes a subscription to FeaturesEdited or * into account', () =>
    withWebhook(async ({ geohook }) => {
      for (const changeType of ['FeaturesEdited', '*']) {
        const options = ['--change-types', changeType, '--active', 'false']
        expect((await geohook('edit', PARCELS, 'n', ...options)).code).toBe(0)
        expect((await geohook(...TRIGGER)).code).toBe(5)
      }
    }))

  it('ends with 4 if it may not see which webhooks are inactive', async () => {
    const target = await startTarget((res, { url }) => {
      const isTrigger = url === '/_mock/trigger'
      res.statusCode = isTrigger ? 200 : 401
      res.end(JSON.stringify(isTrigger ? { deliveries: [] } : { status: 'error', code: 499, messages: [] }))
    })
    const result = await geohook([...TRIGGER, '--url', target.url])
    await target.close()
    expect(result).toMatchObject({ code: 4, stdout: '' })
    expect(result.stderr).toContain('error: no active webhook is subscribed to this event\nGive a token')
  })
})

describe.concurrent('geohook trigger refuses', () => {
  it.each([
    ['a misspelt change type', ['FeatureCreated'], 'unknown change type: did you mean FeaturesCreated?'],
    [
      'one of several',
      ['FeaturesCreated', 'esrijobfailed'],
      'unknown change type: did you mean esriJobFailed?',
    ],
    ['an unknown change type', ['ParcelsSplit'], 'unknown change type\nAdd --help'],
  ])('%s', async (_, changeTypes, message) => {
    const result = await geohook(['trigger', PARCELS, ...changeTypes])
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toContain(`error: ${message}`)
  })

  it('no change type with --any', () =>
    withWebhook(async ({ geohook }, { requests }) => {
      expect((await geohook('edit', PARCELS, 'n', '--change-types', '*')).code).toBe(0)
      expect(await geohook('trigger', PARCELS, 'ParcelsSplit', '--any')).toMatchObject({
        code: 0,
        stderr: '',
      })
      expect(`${requests[0]?.body}`).toContain('ParcelsSplit')
    }))
})

it('geohook trigger --help lists all change types, and the faults of deliveries and extractions', async () => {
  const { stdout } = await geohook(['trigger', '--help'])
  const faults = Object.keys({ ...DELIVERY_FAULTS, ...EXTRACTION_FAULTS })
  for (const name of [...faults, ...FEATURE_CHANGE_TYPES, ...JOB_CHANGE_TYPES]) expect(stdout).toContain(name)
  for (const name of Object.keys(ADMIN_FAULTS)) expect(stdout).not.toContain(name)
})
