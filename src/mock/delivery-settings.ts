import { z } from 'zod'

/** How deliveries are retried, and when a webhook is deactivated (docs/senders.md, "Delivery"). */
export interface DeliverySettings {
  /** Maximum number of attempts for one delivery, 1 to 5. Default 3. */
  notificationAttempts: number
  /** Timeout of an attempt in seconds, 1 to 60. Default 10. */
  notificationTimeOutInSeconds: number
  /** Seconds between two attempts, 0 to 3600. Default 5. */
  notificationElapsedTimeInSeconds: number
  /** A webhook is deactivated after this number of failed deliveries within `daysInPast`, 1 to 1000. Default 5. */
  numberOfFailures: number
  /** Days in which failed deliveries are counted, 1 to 365. Default 5. */
  daysInPast: number
}

export const settingsSchema: z.ZodObject<Record<keyof DeliverySettings, z.ZodInt>> = z.strictObject({
  notificationAttempts: z.int().min(1).max(5),
  notificationTimeOutInSeconds: z.int().min(1).max(60),
  notificationElapsedTimeInSeconds: z.int().min(0).max(3600),
  numberOfFailures: z.int().min(1).max(1000),
  daysInPast: z.int().min(1).max(365),
})

/** The settings that a portal shows. */
export const portalSettingsSchema: z.ZodObject = settingsSchema.pick({
  notificationAttempts: true,
  notificationTimeOutInSeconds: true,
  notificationElapsedTimeInSeconds: true,
})

export const DEFAULT_SETTINGS: DeliverySettings = {
  notificationAttempts: 3,
  notificationTimeOutInSeconds: 10,
  notificationElapsedTimeInSeconds: 5,
  numberOfFailures: 5,
  daysInPast: 5,
}

/**
 * Defaults for hosted services. Hosted services count consecutive failures over any period, so `daysInPast` has its
 * maximum value (docs/senders.md, "Delivery").
 */
export const HOSTED_SETTINGS: DeliverySettings = {
  ...DEFAULT_SETTINGS,
  notificationAttempts: 1,
  notificationElapsedTimeInSeconds: 10,
  daysInPast: 365,
}
