/** Type of service that a user may administer (docs/specification.md, "Endpoints"). */
export type Privilege = 'geoprocessing' | 'features'

/** A user who administers webhooks. */
export interface User {
  username: string
  privileges: readonly Privilege[]
}

/** Longest lifetime of a token: two weeks. */
export const MAX_MINUTES = 20_160

/** Parameters of `generateToken`. */
export interface Credentials {
  username: string
  password: string
  /** Lifetime of the token in minutes, 1 to 20160; absent if the request does not specify one. */
  minutes?: number | undefined
}

/** Credentials of an application (OAuth 2.0, `client_credentials`). */
export interface AppCredentials {
  clientId: string
  clientSecret: string
  /** Lifetime of the token in minutes, 1 to 20160; absent if the request does not specify one. */
  minutes?: number | undefined
}

/** A token, and its expiry time in milliseconds since 1970. */
export interface IssuedToken {
  token: string
  expires: number
}

/** Authenticates users who administer webhooks. */
export interface Auth {
  /** @returns the user of a token; undefined if the token is invalid or has expired */
  authenticate(token: string, now: number): User | undefined | Promise<User | undefined>
  /**
   * Issues a token. If this method is missing, the service has no `generateToken` operation.
   *
   * @returns undefined for wrong credentials
   */
  generateToken?(credentials: Credentials, now: number): Promise<IssuedToken | undefined>
  /**
   * Issues a token to an application. If this method is missing, the service has no `oauth2/token` operation.
   *
   * @returns undefined for wrong credentials
   */
  generateAppToken?(credentials: AppCredentials, now: number): Promise<IssuedToken | undefined>
  /**
   * Issues a token for a server to the holder of a portal's token. If this method is missing, `generateToken` requires
   * a user name.
   *
   * @returns undefined for a token that is invalid or has expired
   */
  exchangeToken?(
    given: { token: string; minutes?: number | undefined },
    now: number,
  ): Promise<IssuedToken | undefined>
}
