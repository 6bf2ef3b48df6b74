import { ApplicationCredentialsManager, ArcGISIdentityManager } from '@esri/arcgis-rest-request'
import type { WebhookError } from 'geohook'
import {
  AdminError,
  type ChangeResult,
  createAdmin,
  type PortalWebhook,
  type ServiceWebhook,
  signIn,
} from 'geohook/admin'
import { createChanges } from 'geohook/changes'
import { expectTypeOf, it } from 'vitest'

const url = 'https://gis.example.com/server'
const admin = createAdmin({ url })
const webhooks = admin.service('Parcels.FeatureServer')

it("a token is text, a function, what signIn returns, or credentials of the vendor's client", async () => {
  // @ts-expect-error an environment variable may be unset, and `undefined` throws
  createAdmin({ url, token: process.env.TOKEN })
  createAdmin({ url, token: async (address) => address })
  createAdmin({ url, token: new ArcGISIdentityManager({ username: 'a', password: 'b' }) })
  createAdmin({
    url,
    token: ApplicationCredentialsManager.fromCredentials({ clientId: 'a', clientSecret: 'b' }),
  })
  const token = await signIn({ portal: url, username: 'a', password: process.env.PASSWORD })
  createAdmin({ url, token })
  createChanges({ origins: [url], token })
  // @ts-expect-error a misspelt option
  createAdmin({ url, timeOut: 1 })
})

it('product says which kind of webhook it is', async () => {
  for await (const webhook of admin.list()) {
    if (webhook.product === 'portal') {
      expectTypeOf(webhook).toEqualTypeOf<PortalWebhook>()
      // @ts-expect-error webhooks of a portal have no schedule
      webhook.schedule
    } else expectTypeOf(webhook).toEqualTypeOf<ServiceWebhook>()
  }
})

it('only members that can be set are changed', async () => {
  expectTypeOf(await webhooks.edit('edits', { active: true })).toEqualTypeOf<ChangeResult>()
  // @ts-expect-error a member of answers
  await webhooks.edit('edits', { owner: 'kim' })
  // @ts-expect-error a webhook needs a payload URL
  await webhooks.create({ name: 'edits' })
})

it('errors are WebhookErrors with codes of their own', () => {
  expectTypeOf<AdminError>().toExtend<WebhookError>()
  const error: unknown = undefined
  if (error instanceof AdminError) {
    // @ts-expect-error a code of the receiver
    if (error.code === 'signature_missing') throw error
    if (error.code === 'admin_conflict') throw error.result?.changed
  }
})
