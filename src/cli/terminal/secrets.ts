import { createRedactor, type Redactor, type Secret } from '../../shared/redact.ts'

const secrets = new Set<Secret>()
let redactor: Redactor | undefined

/** Registers a key, token or password that the command has read. From then on, all output hides it. */
export function keepSecret(secret: Secret): void {
  secrets.add(secret)
  redactor = undefined
}

export const knownSecrets = (): Secret[] => [...secrets]

/** Forgets the secrets of an earlier command line in the same process. */
export function forgetSecrets(): void {
  secrets.clear()
  redactor = undefined
}

/** Hides the known secrets, like {@link Redactor.text}. */
export function hide(text: string, limit?: number): string {
  redactor ??= createRedactor(knownSecrets())
  return redactor.text(text, limit)
}
