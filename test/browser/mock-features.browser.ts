import { describe, expect, it } from 'vitest'
import { NOWHERE } from '../mock/support.ts'
import { expectAccessible, expectNoHorizontalScroll } from './helpers/axe.ts'
import { openMock } from './helpers/mock-home.ts'
import { MODES, visit } from './helpers/visit.ts'

const names = { outFields: 'OBJECTID,name' } as const

describe.each(MODES)('the features of a mock, $mode', (mode) => {
  it('a user adds, edits and deletes a feature', async () => {
    const { service, page, openPanel, press, notice } = await openMock(mode, NOWHERE, {
      allowed: /status of 4/,
    })
    const features = service.features('Parcels')
    await openPanel('Features')
    await page.getByText('No feature service has features yet.').waitFor()
    await press('link', 'Add a feature')
    const feature = page.getByLabel('Feature', { exact: true })
    const oak = JSON.stringify({ attributes: { name: 'Oak <1>' }, geometry: { x: 7, y: 51 } })
    await feature.fill(oak.slice(1))
    await press('button', 'Add a feature')
    await page.getByRole('alert').getByText('the feature is not a JSON object').waitFor()
    expect(await feature.inputValue()).toBe(oak.slice(1))
    await feature.fill(oak)
    await press('button', 'Add a feature')
    await notice('The feature 1 is added.')
    await page.getByText('name: Oak <1>, at 7 51').waitFor()
    await press('link', 'Edit')
    await feature.fill((await feature.inputValue()).replace('Oak <1>', 'Elm'))
    await press('button', 'Edit')
    await notice('The feature 1 is edited.')
    expect(features.query(names)).toMatchObject([{ attributes: { OBJECTID: 1, name: 'Elm' } }])
    await press('link', 'Delete')
    await press('button', 'Delete')
    await notice('The feature 1 is deleted.')
    expect(features.query()).toEqual([])
  })
})

it.each([360, 1280])('the panel of features is accessible at %i px', async (width) => {
  const { service } = await openMock(MODES[0] as (typeof MODES)[number], NOWHERE)
  const features = service.features('Parcels')
  features.applyEdits({
    adds: [{ attributes: { name: 'Oak' }, geometry: { x: 7, y: 51 } }, { attributes: {} }],
  })
  const page = await visit(service.url, { width, hasAxe: true })
  const entry = 'Parcels.FeatureServer/0'
  for (const path of ['', `/add?entry=${entry}`]) {
    await page.goto(`${service.url}/features${path}`)
    await expectAccessible(page)
    await expectNoHorizontalScroll(page)
  }
})
