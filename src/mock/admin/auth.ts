/** What a user may administer: the Geoprocessing privilege, the Feature layer privilege (specification, "Endpoints"). */
export type Privilege = 'geoprocessing' | 'features'

/** Somebody who administers webhooks. */
export interface User {
  username: string
  privileges: readonly Privilege[]
}

/** The longest life of a token: two weeks. */
export const MAX_MINUTES = 20_160

/** What `generateToken` is given. */
export interface Credentials {
  username: string
  password: string
  /** How long the token is to be good for, 1 to 20160; absent where the request does not say. */
  minutes?: number | undefined
}

/** Who may administer webhooks. */
export interface Auth {
  /** @returns whose token it is; undefined for one that is invalid or has expired */
  authenticate(token: string, now: number): User | undefined | Promise<User | undefined>
  /** @returns undefined for wrong credentials. Absent, there is no operation `generateToken`. */
  generateToken?(
    credentials: Credentials,
    now: number,
  ): Promise<{ token: string; expires: number } | undefined>
}
