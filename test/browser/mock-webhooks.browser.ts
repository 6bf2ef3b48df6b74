import { describe, expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { receiver } from '../inspector/helpers/mock-support.ts'
import { NOWHERE } from '../mock/support.ts'
import { openMock } from './helpers/mock-home.ts'
import { expectNoSecrets } from './helpers/secrets.ts'
import { MODES } from './helpers/visit.ts'

const TYPED = 'typed-key-2026'
const ALLOWED = /status of 4/

describe.each(MODES)('the services of a mock, $mode', (mode) => {
  it('a user creates, edits, deactivates, activates and deletes a webhook in the panel', async () => {
    const { service, page, openPanel, press, notice } = await openMock(mode, await receiver(), {
      allowed: ALLOWED,
    })
    const find = (name: string) => service.snapshot().webhooks.find((webhook) => webhook.name === name)
    const field = (name: string) => page.getByLabel(name, { exact: true })
    await openPanel('Services')
    const parcels = page.getByRole('region', { name: 'Parcels.FeatureServer' })
    await parcels.getByRole('link', { name: 'Create a webhook' }).click()
    await field('name').fill('quality check')
    await field('hookUrl').fill('ftp://127.0.0.1/x')
    await field('changeTypes').fill('FeaturesCreated')
    await field('signatureKey').fill(TYPED)
    await press('button', 'Create a webhook')
    await page.getByRole('alert').getByText('hookUrl').waitFor()
    expect(await field('name').inputValue()).toBe('quality check')
    expect(await field('changeTypes').inputValue()).toBe('FeaturesCreated')
    expect(await page.content()).not.toContain(TYPED)
    await field('hookUrl').fill(NOWHERE)
    await field('signatureKey').fill(TYPED)
    await press('button', 'Create a webhook')
    await notice('The webhook quality check is created.')
    expect(find('quality check')).toMatchObject({ signatureKey: TYPED, active: true })

    const entry = page.getByRole('article', { name: 'quality check' })
    await entry.getByRole('button', { name: 'Deactivate' }).click()
    await notice('The webhook quality check is deactivated.')
    expect(find('quality check')?.active).toBe(false)
    await entry.getByRole('button', { name: 'Activate' }).click()
    await notice('The webhook quality check is activated.')
    expect(find('quality check')).toMatchObject({ active: true, signatureKey: TYPED })

    await entry.getByRole('link', { name: 'Edit' }).click()
    await field('name').fill('nightly check')
    await press('button', 'Edit')
    await notice('The webhook nightly check is edited.')
    expect(find('nightly check')).toMatchObject({ signatureKey: TYPED, hookUrl: NOWHERE })

    const renamed = page.getByRole('article', { name: 'nightly check' })
    await renamed.getByRole('link', { name: 'Delete' }).click()
    await page.getByText('Delete the webhook nightly check? It cannot be restored.').waitFor()
    await press('link', 'Cancel')
    await renamed.getByRole('link', { name: 'Delete' }).click()
    expect(find('nightly check')).toBeDefined()
    await press('button', 'Delete')
    await notice('The webhook nightly check is deleted.')
    expect(find('nightly check')).toBeUndefined()
    expect(await expectNoSecrets(service.url, [KEY, TYPED])).toContain('/webhooks')
  })

  it('a user changes the settings, and an invalid form keeps the input', async () => {
    const { service, page, openPanel, press, notice } = await openMock(mode, NOWHERE, { allowed: ALLOWED })
    await openPanel('Settings')
    await press('link', 'Change')
    await page.getByLabel('notificationAttempts').fill('9')
    await page.getByLabel('numberOfFailures').fill('7')
    await press('button', 'Change')
    await page.getByRole('alert').getByText('a whole number from 1 to 5').waitFor()
    expect(await page.getByLabel('numberOfFailures').inputValue()).toBe('7')
    await page.getByLabel('notificationAttempts').fill('3')
    await press('button', 'Change')
    await notice('The settings are changed.')
    expect(service.settings).toMatchObject({ notificationAttempts: 3, numberOfFailures: 7 })
    await page.locator('#panels').getByText('3 attempts').waitFor()
  })
})
