import { Text } from "@mantine/core"

/** A text cut to one line of a list; whole on hover. */
export function TruncatedText({
  text,
  width = 360,
}: {
  readonly text: string
  readonly width?: number
}) {
  return (
    <Text inherit truncate maw={width} title={text}>
      {text}
    </Text>
  )
}
