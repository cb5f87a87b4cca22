package membership

func runHelper(string) int { return 1 }
