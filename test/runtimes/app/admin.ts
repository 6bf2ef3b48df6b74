import { type AdminError, createAdmin, type Member, signIn } from 'geohook/admin'

/** What the client of geohook/admin read from a mock service. */
export interface Administered {
  name: string
  changed: readonly Member[]
  code: string
}

/** Signs in to a mock service, edits a webhook, and asks for one that does not exist. */
export async function administer(url: string): Promise<Administered> {
  const token = await signIn({ portal: `${url}/sharing/rest`, username: 'both', password: 'pw-both' })
  const webhooks = createAdmin({ url: `${url}/rest/services/Parcels/FeatureServer`, token }).service()
  const { webhook, changed } = await webhooks.edit('parcel edits', { name: 'renamed' })
  const code = await webhooks.get('parcel edits').then(
    () => 'found',
    (error: AdminError) => error.code,
  )
  return { name: webhook.name, changed, code }
}
