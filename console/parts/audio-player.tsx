import { Stack, Text } from "@mantine/core"
import styles from "./parts.module.css"

interface SoundProps {
  readonly title: string
  /** Where it is played from: this page's own server. */
  readonly address: string
  readonly description?: string
}

/** Audio, to be listened to where one is. Nothing of it is loaded before. */
export function AudioPlayer({ title, address, description }: SoundProps) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {title}{" "}
        {description === undefined ? null : (
          <Text span c="dimmed" fw={400}>
            {description}
          </Text>
        )}
      </Text>
      {/* It is what people said on the telephone: nobody wrote captions of it. */}
      {/* oxlint-disable-next-line jsx-a11y/media-has-caption */}
      <audio className={styles.sound} controls preload="none" src={address} aria-label={title} />
    </Stack>
  )
}
