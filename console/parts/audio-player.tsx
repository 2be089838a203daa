import { Stack, Text } from "@mantine/core"
import styles from "./parts.module.css"

interface SoundProps {
  readonly title: string
  /** Address of the audio on this page's own server. */
  readonly address: string
  readonly description?: string
}

/** An audio player; it loads nothing before it is played. */
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
      {/* Recordings of calls have no captions. */}
      {/* oxlint-disable-next-line jsx-a11y/media-has-caption */}
      <audio className={styles.sound} controls preload="none" src={address} aria-label={title} />
    </Stack>
  )
}
