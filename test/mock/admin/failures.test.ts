import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { adminHandler } from '../../../src/mock/admin/routes.ts'
import { Mock } from '../../../src/mock/service.ts'
import type { State } from '../../../src/mock/state/snapshot.ts'
import { listen } from '../../helpers/mounts/mounted.ts'
import { FEATURE, JOB, pathOf, same, seed } from '../support.ts'
import { get, postForm } from './support.ts'

// These tests restore failures from a snapshot instead of sending deliveries, to test only the administration.

const TIMES = [1695756823000, 1695756824000]

const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

async function startWithFailures(active: boolean): Promise<{ state: State; url: string }> {
  const mock = new Mock({})
  const failures = [FEATURE.id, 'other', JOB.id].map((webhookId) => ({ webhookId, times: TIMES }))
  const webhooks = [seed(FEATURE, { active }), seed(FEATURE, { id: 'other', name: 'other' }), seed(JOB)]
  mock.restore({ webhooks, failures })
  // The handler is mounted below a path, because applications may do this.
  const mounted = await listen(express().use('/hook', adminHandler(mock, false)))
  closers.push(mounted.close)
  return { state: mock.state, url: mounted.url }
}

describe('failures of a webhook', () => {
  it('are listed, oldest first', async () => {
    const { url } = await startWithFailures(true)
    const { text } = await get(`${url}${pathOf(FEATURE)}/notificationStatus`)
    expect(text).toBe(
      '{"webhookNotificationStatus":[{"invoked":false,"invokedTimestamp":1695756823000},{"invoked":false,"invokedTimestamp":1695756824000}]}',
    )
  })

  it.each<[what: string, path: string, parameters: Record<string, string>, forgotten: string[]]>([
    ['switching it on', `${pathOf(FEATURE)}/edit`, { ...same(FEATURE), active: 'true' }, [FEATURE.id]],
    ['an edit that leaves it off', `${pathOf(FEATURE)}/edit`, same(FEATURE), []],
    [
      'an edit of one that is on',
      `${pathOf({ ...FEATURE, id: 'other' })}/edit`,
      { ...same(FEATURE), name: 'other', active: 'true' },
      [],
    ],
    ['deleting it', `${pathOf(FEATURE)}/delete`, {}, [FEATURE.id]],
    ['deleteAll', '/services/Parcels.FeatureServer/webhooks/deleteAll', {}, [FEATURE.id, 'other']],
    ['activateAll', '/services/Parcels.FeatureServer/webhooks/activateAll', {}, [FEATURE.id, 'other']],
    ['deactivateAll', '/services/Parcels.FeatureServer/webhooks/deactivateAll', {}, []],
  ])('%s', async (_, path, parameters, forgotten) => {
    const { state, url } = await startWithFailures(false)
    expect((await postForm(url + path, parameters)).status).toBe(200)
    const left = [FEATURE.id, 'other', JOB.id].filter((id) => state.failures.has(id))
    expect(left).toEqual([FEATURE.id, 'other', JOB.id].filter((id) => !forgotten.includes(id)))
  })
})
