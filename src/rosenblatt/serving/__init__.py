"""What our servers share: where they listen, whom they answer, how long they wait, and how they end."""
