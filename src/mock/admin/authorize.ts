import type { IncomingHttpHeaders } from 'node:http'
import { AdminError } from '../http/errors.ts'
import { ANYONE } from '../state/webhook.ts'
import type { Privilege, User } from './auth.ts'
import type { Context } from './context.ts'
import { type Parameters, single } from './form-fields.ts'
import type { Address } from './paths.ts'

const TITLES: Record<Privilege, string> = {
  geoprocessing: 'the Geoprocessing privilege',
  features: 'the Feature layer privilege',
}

/** Who acts where nobody has to say who they are. */
const EVERYTHING: User = { username: ANYONE, privileges: ['geoprocessing', 'features'] }

/** @throws {AdminError} 499 without a token, 498 for one that is invalid or has expired, 400 for two that differ */
export async function identify(
  { options: { auth, clock } }: Context,
  parameters: Parameters,
  headers: IncomingHttpHeaders,
): Promise<User> {
  const parameter = single(parameters, 'token')
  if (!auth) return EVERYTHING
  const given = [parameter, bearer(headers.authorization), bearer(headers['x-esri-authorization'])]
  const [token, ...others] = new Set(given.filter((text) => text !== undefined))
  if (token === undefined) throw new AdminError(499, 'a token is required')
  if (others.length > 0) throw new AdminError(400, 'token is given more than once')
  const user = await auth.authenticate(token, clock.now())
  if (!user) throw new AdminError(498, 'the token is invalid or has expired')
  return user
}

/** Other schemes are none of ours (RFC 6750 section 2.1; a scheme is case-insensitive, RFC 9110 section 11.1). */
function bearer(header: string | string[] | undefined): string | undefined {
  return /^bearer +(\S.*)$/i.exec(String(header ?? ''))?.[1]
}

/**
 * The privilege must fit the type of the service; what holds for the whole site takes both.
 *
 * @throws {AdminError} 403
 */
export function requirePrivileges(user: User, address: Address): void {
  const missing = neededFor(address).filter((privilege) => !user.privileges.includes(privilege))
  if (missing.length > 0)
    throw new AdminError(403, `this needs ${missing.map((privilege) => TITLES[privilege]).join(' and ')}`)
}

function neededFor(address: Address): Privilege[] {
  if (address.scope !== 'service') return ['geoprocessing', 'features']
  return [address.serviceType === 'GPServer' ? 'geoprocessing' : 'features']
}
