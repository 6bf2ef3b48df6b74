import { createManualClock, type FaultSeed, type MockService } from 'geohook/mock'
import { expect, it } from 'vitest'
import { FEATURE, NOWHERE, pathOf, post, same, seed, start } from '../support.ts'
import { auth, get, NOW, PARCELS, tokenOf } from './support.ts'

const PATH = pathOf(FEATURE)
const EDIT = `${PATH}/edit`
const RENAME = { ...same(FEATURE), name: 'renamed' }

async function startWith(...faults: Omit<FaultSeed, 'times'>[]): Promise<MockService> {
  const service = await start([seed(FEATURE)], { clock: createManualClock(NOW) })
  for (const fault of faults) service.faults.add({ times: 1, ...fault })
  return service
}

const stored = (service: MockService) => service.snapshot().webhooks[0]

it('admin_slow: the change is made at once, and the response is held back for the delay', async () => {
  const clock = createManualClock(NOW)
  const service = await start([seed(FEATURE)], { clock })
  service.faults.add({ fault: 'admin_slow', times: 1, delay: 1000 })
  const changed = new Promise((resolve) => service.on(resolve))
  let isAnswered = false
  const answer = post(service, EDIT, RENAME).then(({ status }) => {
    isAnswered = true
    return status
  })
  await changed
  expect([stored(service)?.name, isAnswered]).toEqual(['renamed', false])
  await clock.advance(999)
  expect((await post(service, PATH, {})).status, 'other requests are not held back').toBe(200)
  expect(isAnswered).toBe(false)
  await clock.advance(1)
  expect(await answer).toBe(200)
})

it('admin_slow: close() does not wait for the delay', async () => {
  const service = await startWith({ fault: 'admin_slow' })
  const changed = new Promise((resolve) => service.on(resolve))
  const answer = post(service, EDIT, RENAME)
  await changed
  await service.close()
  expect((await answer).status).toBe(200)
})

it('admin_answer_lost: the change is made, and the connection ends', async () => {
  const service = await startWith({ fault: 'admin_answer_lost' })
  await expect(post(service, EDIT, RENAME)).rejects.toThrow('fetch failed')
  expect(stored(service)?.name).toBe('renamed')
  expect((await post(service, EDIT, RENAME)).status).toBe(200)
})

it('admin_token_expired: one change is refused with 498', async () => {
  const service = await startWith({ fault: 'admin_token_expired' })
  expect((await post(service, PATH, {})).status, 'a read is no change').toBe(200)
  expect((await post(service, EDIT, RENAME)).body).toMatchObject({ code: 498 })
  expect(stored(service)).toEqual(FEATURE)
  expect((await post(service, EDIT, RENAME)).status).toBe(200)
})

it('admin_html_answer: one change gets a page with the status 200, and is not made', async () => {
  const service = await startWith({ fault: 'admin_html_answer' })
  const response = await fetch(service.url + EDIT, { method: 'POST', body: new URLSearchParams(RENAME) })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(await response.text()).toMatch(/^<!doctype html>/)
  expect(stored(service)).toEqual(FEATURE)
})

it('a request gets the oldest fault of its response, and the others later', async () => {
  const service = await startWith({ fault: 'admin_html_answer' }, { fault: 'admin_token_expired' })
  await expect(post(service, EDIT, RENAME)).rejects.toThrow('JSON')
  expect((await post(service, EDIT, RENAME)).status).toBe(498)
})

it.each([undefined, 'name', 'changeTypes', 'signatureKey', 'active', 'scheduleInfo'] as const)(
  'edit_member_ignored: an edit keeps the member %s, and changes the others',
  async (member) => {
    const service = await startWith({ fault: 'edit_member_ignored', ...(member && { member }) })
    const edit = {
      name: 'renamed',
      changeTypes: 'FeaturesDeleted',
      signatureKey: 'another-key',
      hookUrl: `${NOWHERE}/2`,
      active: 'false',
      scheduleInfo: '{"state":"disabled"}',
    }
    const { body } = await post(service, EDIT, edit)
    const kept = Object.keys(edit).filter((name) => {
      const [before, after] = [FEATURE, body].map((webhook) => webhook[name as keyof typeof webhook])
      return JSON.stringify(before) === JSON.stringify(after)
    })
    expect(kept).toEqual([member ?? 'hookUrl'])
    expect(stored(service)).toMatchObject({ [member ?? 'hookUrl']: FEATURE[member ?? 'hookUrl'] })
    expect((await post(service, EDIT, edit)).body).toMatchObject({ name: 'renamed', hookUrl: edit.hookUrl })
  },
)

it('edit_member_ignored: the method edit is no request', async () => {
  const service = await startWith({ fault: 'edit_member_ignored', member: 'name' })
  expect(await service.edit(FEATURE.id, { name: 'renamed' })).toMatchObject({ name: 'renamed' })
})

it('interval_raised: a shorter interval is stored as 60 seconds', async () => {
  const service = await start([seed(FEATURE)])
  service.faults.add({ fault: 'interval_raised' })
  const edit = async (interval: number, frequency: string) => {
    const scheduleInfo = JSON.stringify({ recurrenceInfo: { interval, frequency } })
    return (await post(service, EDIT, { ...same(FEATURE), scheduleInfo })).body.scheduleInfo
  }
  expect(await edit(30, 'second')).toMatchObject({ recurrenceInfo: { interval: 60 } })
  expect(await edit(90, 'second')).toMatchObject({ recurrenceInfo: { interval: 90 } })
  expect(await edit(1, 'minute')).toMatchObject({ recurrenceInfo: { interval: 1, frequency: 'minute' } })
})

it('change_types_reordered and wildcard_as_all: change one response, and nothing that is stored', async () => {
  const webhook = seed(FEATURE, { changeTypes: ['*', 'FeaturesCreated'] })
  const service = await start([webhook])
  for (const fault of ['change_types_reordered', 'wildcard_as_all'] as const)
    service.faults.add({ fault, times: 1 })
  const list = async () => JSON.parse((await get(service.url + PARCELS)).text).webhooks[0].changeTypes
  expect(await list()).toEqual(['FeaturesCreated', 'All'])
  expect(await list()).toEqual(['*', 'FeaturesCreated'])
  expect(stored(service)).toEqual(webhook)
})

it('faults of the administration are not for deliveries', async () => {
  const service = await startWith({ fault: 'admin_slow' })
  await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
  expect(service.deliveries[0]?.fault).toBeUndefined()
  expect(service.faults.list()).toHaveLength(1)
})

it('a change without a valid token does not reach the operation', async () => {
  const service = await start([seed(FEATURE)], { auth: auth() })
  service.faults.add({ fault: 'edit_member_ignored', times: 1 })
  expect((await post(service, EDIT, RENAME)).status).toBe(499)
  expect(service.faults.list()).toHaveLength(1)
  const token = await tokenOf(service, 'both')
  expect((await post(service, EDIT, { ...RENAME, token })).status).toBe(200)
  expect(service.faults.list()).toEqual([])
})
