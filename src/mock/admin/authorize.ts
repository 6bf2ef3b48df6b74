import type { IncomingHttpHeaders } from 'node:http'
import { AdminError } from '../http/errors.ts'
import type { ServiceType } from '../state/services.ts'
import { ANYONE } from '../state/webhook.ts'
import type { Privilege, User } from './auth.ts'
import { type Parameters, single } from './form-fields.ts'
import type { Context } from './operation.ts'

const PRIVILEGE_NAMES: Record<Privilege, string> = {
  geoprocessing: 'the Geoprocessing privilege',
  features: 'the Feature layer privilege',
}

/** The user of every request if the service has no `auth`, and of the inspector. */
export const ANONYMOUS: User = { username: ANYONE, privileges: ['geoprocessing', 'features'] }

/** @throws {AdminError} 499 without a token, 498 for an invalid or expired token, 400 for two different tokens */
export async function identify(
  { options: { auth, clock } }: Context,
  parameters: Parameters,
  headers: IncomingHttpHeaders,
): Promise<User> {
  const parameter = single(parameters, 'token')
  if (!auth) return ANONYMOUS
  const candidates = [
    parameter,
    bearerToken(headers.authorization),
    bearerToken(headers['x-esri-authorization']),
  ]
  const [token, ...others] = new Set(candidates.filter((text) => text !== undefined))
  if (token === undefined) throw new AdminError(499, 'a token is required')
  if (others.length > 0) throw new AdminError(400, 'token is given more than once')
  const user = await auth.authenticate(token, clock.now())
  if (!user) throw new AdminError(498, 'the token is invalid or has expired')
  return user
}

/**
 * Returns the token of the scheme `Bearer` (RFC 6750, section 2.1); undefined for other schemes. The letter case of the
 * scheme does not matter (RFC 9110, section 11.1).
 */
function bearerToken(header: string | string[] | undefined): string | undefined {
  return /^bearer +(\S.*)$/i.exec(String(header ?? ''))?.[1]
}

/**
 * Requires the privilege for the type of the service; operations on the whole site or the portal require both.
 *
 * @throws {AdminError} 403
 */
export function requirePrivileges(user: User, serviceType: ServiceType | undefined): void {
  const missing = requiredPrivileges(serviceType).filter((privilege) => !user.privileges.includes(privilege))
  if (missing.length > 0)
    throw new AdminError(
      403,
      `this needs ${missing.map((privilege) => PRIVILEGE_NAMES[privilege]).join(' and ')}`,
    )
}

function requiredPrivileges(serviceType: ServiceType | undefined): Privilege[] {
  if (serviceType === undefined || serviceType === 'Portal') return ['geoprocessing', 'features']
  return [serviceType === 'GPServer' ? 'geoprocessing' : 'features']
}
