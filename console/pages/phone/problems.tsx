import { Alert, List, Text } from "@mantine/core"

/** Problems that a reviewer would find. */
export function Problems({
  title,
  problems,
}: {
  readonly title: string
  readonly problems: readonly { readonly where: string; readonly message: string }[]
}) {
  if (problems.length === 0) return null
  return (
    <Alert color="orange" variant="light" title={title}>
      <List size="sm">
        {problems.map(({ where, message }) => (
          <List.Item key={`${where} ${message}`}>
            <Text span size="sm" fw={500}>
              {where}
            </Text>
            : {message}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}
